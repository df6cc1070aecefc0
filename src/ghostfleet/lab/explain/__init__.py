"""Why something waits: one reason that counts most, the evidence, and what would help."""

from ghostfleet.lab.explain.appwrapper import explain_wrapper
from ghostfleet.lab.explain.kai import KaiExplanation
from ghostfleet.lab.explain.owner import OwnerExplanation, explain_owner
from ghostfleet.lab.explain.pod import PodExplanation, explain_pod
from ghostfleet.lab.explain.queue import QueueExplanation, explain_queue

__all__ = [
    "KaiExplanation",
    "OwnerExplanation",
    "PodExplanation",
    "QueueExplanation",
    "explain_owner",
    "explain_pod",
    "explain_queue",
    "explain_wrapper",
]
