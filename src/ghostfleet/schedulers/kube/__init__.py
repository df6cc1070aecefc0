"""The default scheduler, deciding as kube-scheduler v1.36 does.

Read it in this order: `scheduler` (what happens when), `cycle` (one decision), `plan` (what is kept between
decisions), then the plugins: `matching`, `fitting`, `spreading`, `affinity`, `volumes`, `preemption`.
"""

from ghostfleet.schedulers.kube.config import ConfigError, Configuration, load_configuration, parse_configuration
from ghostfleet.schedulers.kube.cycle import Decision, schedule_one
from ghostfleet.schedulers.kube.profile import Profile
from ghostfleet.schedulers.kube.scheduler import KubeScheduler
from ghostfleet.schedulers.kube.state import ClusterState

__all__ = [
    "ClusterState",
    "ConfigError",
    "Configuration",
    "Decision",
    "KubeScheduler",
    "Profile",
    "load_configuration",
    "parse_configuration",
    "schedule_one",
]
