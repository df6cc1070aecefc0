"""The stress test: how long n small Jobs take, in several modes, measured as the published scripts do."""

from ghostfleet.lab.stress.modes import MODES, Mode, find_mode
from ghostfleet.lab.stress.plan import StressPlan, run_stress
from ghostfleet.lab.stress.trial import PodTimes, Trial, play_trial

__all__ = ["MODES", "Mode", "PodTimes", "StressPlan", "Trial", "find_mode", "play_trial", "run_stress"]
