"""Rules of pods and of the pod templates inside other kinds, one module for each part of a pod."""
