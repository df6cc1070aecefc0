"""KAI: queues, fair shares, gangs, consolidation, reclaim and preemption, decided as the KAI scheduler decides.

The cycle is pure: a snapshot (`cluster_info`) goes in, decisions come out (`cycle.run_once`). How to read it: `session`
and `statement` are the ground, `actions` what happens in a cycle, `allocating` and `solvers` how they do it, `plugins`
the rules.
"""
