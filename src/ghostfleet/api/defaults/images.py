"""Images: what the name of a container image says about when to pull it.

An image is pulled always when its tag is `latest`, which it also is when it has neither tag nor digest; anything
else, a name that is no image name included, is pulled only if it is not there.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["pull_policy"]

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_STEP = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:(?P<host>{_HOST})/)?{_STEP}(?:/{_STEP})*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
#: Sixty-four hex digits are the identifier of an image, not a name.
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")


@lru_cache(maxsize=4096)
def pull_policy(image: str) -> str:
    """`Always` or `IfNotPresent`."""
    found = _REFERENCE.fullmatch(image)
    if found is None or _IDENTIFIER.fullmatch(image):
        return "IfNotPresent"
    latest = found["tag"] == "latest" or (found["tag"] is None and found["digest"] is None)
    return "Always" if latest else "IfNotPresent"
