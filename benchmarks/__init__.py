"""Benchmarks: what the embedded cluster can do, each figure beside a baseline measured in the same run."""
