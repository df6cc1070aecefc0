"""Files that hold secrets: readable by their owner only, and never seen half written.

The text goes to a new file beside the target, which then takes the target's name in one step; whoever reads meanwhile
sees the old file or the new one. A symbolic link stays: what it points to is replaced.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["write_secret"]


def write_secret(path: Path, data: bytes) -> None:
    """Write `data` to `path` with mode 0600, making its directory (0700) if need be."""
    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp makes the file with 0600 from the start, so there is no moment in which others could open it.
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
