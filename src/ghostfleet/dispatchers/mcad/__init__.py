"""MCAD, the Multi-Cluster App Dispatcher: AppWrappers wait here until the cluster has room for them.

`Mcad` is one dispatcher on one cluster, in one of the versions that `dispatcher_names` lists. How to read on: `wrapper`
and `demand` say what is asked for, `availability` and `quotatree` what there is, `dispatch` who may run; `early` and
`late` are the two generations of the real controller, `better` is what it could be, and `explain` tells users why
something waits.
"""

from __future__ import annotations

from ghostfleet.dispatchers.mcad.explain import Explanation, explain
from ghostfleet.dispatchers.mcad.profiles import dispatcher_names, load_dispatcher_profile
from ghostfleet.dispatchers.mcad.service import Mcad

__all__ = ["Explanation", "Mcad", "dispatcher_names", "explain", "load_dispatcher_profile"]
