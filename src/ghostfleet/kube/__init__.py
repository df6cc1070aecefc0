"""Real Kubernetes: a real control plane on this machine, and our stage engine at work on any cluster."""
