"""Defaults: the values Kubernetes fills in when they are absent, one module for each group of kinds.

Defaulting sees one object and adds what its kind leaves unsaid, on every write (`strategy.apply_defaults`). Objects are
taken as their schema has them, with the right types everywhere; they are never changed, and come back themselves when
nothing was missing.
"""
