"""Why something waits: one reason that counts most, the evidence, and what would help."""

from ghostfleet.lab.explain.appwrapper import explain_wrapper
from ghostfleet.lab.explain.owner import OwnerExplanation, explain_owner
from ghostfleet.lab.explain.pod import PodExplanation, explain_pod

__all__ = ["OwnerExplanation", "PodExplanation", "explain_owner", "explain_pod", "explain_wrapper"]
