"""The scheduling framework: what every scheduler stands on.

Read it in this order: `snapshot` (nodes and pods, kept up to date by events), `statement` (what-if), `decisions`,
`runner` (when a scheduler is called, how its decisions are written), `own` (a scheduler of your own); then, for
plugins of kube-scheduler, `plugin` (extension points), `profile` and `runtime` (which plugins take part), `cyclestate`
(what is kept for pods alike), `diagnosis` (why a pod fits nowhere).
"""

from ghostfleet.schedulers.framework.decisions import Bind, Decision, Evict, Group, Nominate, Reject
from ghostfleet.schedulers.framework.index import Index
from ghostfleet.schedulers.framework.plugin import Filter, Objection, Plugin, Rejected, Scope, Score
from ghostfleet.schedulers.framework.podinfo import PodInfo
from ghostfleet.schedulers.framework.profile import Profile, register
from ghostfleet.schedulers.framework.runner import Pace, Runner
from ghostfleet.schedulers.framework.session import NodeInfo, Session
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.framework.statement import Statement

__all__ = [
    "Bind",
    "Decision",
    "Evict",
    "Filter",
    "Group",
    "Index",
    "NodeInfo",
    "Nominate",
    "Objection",
    "Pace",
    "Plugin",
    "PodInfo",
    "Profile",
    "Reject",
    "Rejected",
    "Runner",
    "Scope",
    "Score",
    "Session",
    "Snapshot",
    "Statement",
    "register",
]
