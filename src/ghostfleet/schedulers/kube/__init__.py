"""kube-scheduler, deciding as v1.36 does.

Read it in this order: `scheduler` (what happens when), `schedule_one` (one decision), `plugins` (what decides), then
`queue`, `config`, and `findings` and `remedies`, which explain is made of.
"""

import ghostfleet.schedulers.kube.plugins  # noqa: F401 - they register themselves
from ghostfleet.schedulers.framework.arguments import ConfigError
from ghostfleet.schedulers.framework.profile import Profile
from ghostfleet.schedulers.kube.config import Configuration, load_configuration, parse_configuration
from ghostfleet.schedulers.kube.schedule_one import ScheduleAlgorithm, ScheduleResult
from ghostfleet.schedulers.kube.scheduler import KubeScheduler

__all__ = [
    "ConfigError",
    "Configuration",
    "KubeScheduler",
    "Profile",
    "ScheduleAlgorithm",
    "ScheduleResult",
    "load_configuration",
    "parse_configuration",
]
