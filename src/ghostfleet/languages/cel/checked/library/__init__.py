"""The libraries of functions that Kubernetes gives CEL, one a module."""
