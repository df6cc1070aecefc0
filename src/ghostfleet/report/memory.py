"""The memory of this process, for what is said at the end of a run."""

from __future__ import annotations

import sys

__all__ = ["peak_memory"]

_MEBIBYTE = 1 << 20
_KIBIBYTE = 1 << 10


def peak_memory() -> float:
    """The most that this process has had so far, in MiB."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (most if sys.platform == "darwin" else most * _KIBIBYTE) / _MEBIBYTE
