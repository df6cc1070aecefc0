"""What can go wrong with the expressions of a stage.

An expression is *compiled* once, when its stage is loaded, and *evaluated* for every object. Whatever is not in the
language, or in the part of it that is understood here, is found at compile time, so that a stage that loads never
fails for that reason later on; what an object does to a sound expression is found when it is evaluated.
"""

from __future__ import annotations

from ghostfleet.core.errors import shortened

__all__ = ["EvaluationError", "Unsupported"]


#: characters of a message
_MESSAGE = 4_096


class Unsupported(ValueError):
    """Text that cannot be compiled: wrong in its language, or a part of it that is not supported. Names the part."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message, _MESSAGE))


class EvaluationError(ValueError):
    """A sound expression and an object that do not go together."""

    #: in a template: the line, and the action that failed; 0 where it is not known
    line: int = 0
    action: str = ""

    def __str__(self) -> str:
        # Not before it is asked for: queries fail on many objects, and nobody reads why.
        return shortened(super().__str__(), _MESSAGE)
