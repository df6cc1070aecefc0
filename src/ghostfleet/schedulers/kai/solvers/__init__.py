"""The search for victims that consolidation, reclaim and preemption share."""
