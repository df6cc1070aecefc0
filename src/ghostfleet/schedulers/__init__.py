"""Schedulers: what decides on which node a pod runs.

`interface` says how any scheduler is plugged in; `kube` is the default one, which decides as kube-scheduler does. `dra`
says which devices the claims of a pod get on a node, for every scheduler.
"""
