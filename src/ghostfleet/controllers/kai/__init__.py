"""KAI's part of a cluster, all but the scheduler itself: its kinds, its webhooks and its four controllers.

The *pod grouper* puts pods into pod groups by who owns them, the *pod group controller* and the *queue controller* sum
up what groups and queues asked for and got, the *binder* does what bind requests say. They follow KAI v0.13
(https://github.com/NVIDIA/KAI-Scheduler) and say what it says. `definitions` installs the kinds, `part` puts the
controllers together.
"""

from __future__ import annotations

from ghostfleet.controllers.kai.constants import (
    BIND_REQUESTS,
    POD_GROUPS,
    QUEUES,
    SCHEDULING_SHARDS,
    TOPOLOGIES,
    KaiConfig,
)
from ghostfleet.controllers.kai.definitions import install_kinds

__all__ = [
    "BIND_REQUESTS",
    "POD_GROUPS",
    "QUEUES",
    "SCHEDULING_SHARDS",
    "TOPOLOGIES",
    "KaiConfig",
    "install_kinds",
]
