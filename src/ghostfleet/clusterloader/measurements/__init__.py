"""Measurements: what steps of a test start and gather, by their method (`pkg/measurement/common`)."""

from __future__ import annotations

from ghostfleet.clusterloader.measurements.registry import METHODS, SKIPPED, make_measurement

__all__ = ["METHODS", "SKIPPED", "make_measurement"]
