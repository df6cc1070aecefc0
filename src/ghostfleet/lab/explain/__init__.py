"""Why something waits: one reason that counts most, the evidence, and what would help."""

from ghostfleet.lab.explain.appwrapper import explain_wrapper
from ghostfleet.lab.explain.pod import PodExplanation, explain_pod

__all__ = ["PodExplanation", "explain_pod", "explain_wrapper"]
