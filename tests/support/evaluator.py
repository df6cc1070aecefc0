"""A process of its own that evaluates hostile texts, with little memory and only so much time.

What a text does to it cannot hurt the tests: a process that does not answer in time, or dies, is replaced. It reads one
request a line, and answers in a line: the outcome, and how many steps it took.
"""

from __future__ import annotations

import json
import resource
import select
import subprocess
import sys
from importlib import import_module
from typing import Any

__all__ = ["Evaluator", "Outcome"]

#: Bytes of address space, and seconds that nothing may take; a budget ends an evaluation in a small part of that.
_MEMORY = 1 << 30
_PATIENCE = 20

Outcome = dict[str, Any]


class Evaluator:
    """Evaluates texts in another process, which is started when it is needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def evaluate(self, language: str, text: str, obj: Any = None) -> Outcome:
        """What becomes of a text: `value`, `error` (and its `type`), or that the process `died` or was `stuck`.

        The language `call` is for everything else: the text names a function, `module:name`, the object is its arguments.
        """
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-c", "from support.evaluator import serve; serve()"]
            path = [each for each in sys.path if each]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": ":".join(path)}
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([language, text, obj]) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], _PATIENCE)
        line = process.stdout.readline() if ready else ""
        if line:
            outcome: Outcome = json.loads(line)
            return outcome
        self.close()
        return {"type": "died" if ready else "stuck", "error": f"{language} {text[:100]!r}"}

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def serve() -> None:
    """What the other process does."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for line in sys.stdin:
        try:
            print(json.dumps(_outcome(*json.loads(line))), flush=True)
        except MemoryError:
            print(json.dumps({"type": "MemoryError", "error": "out of memory"}), flush=True)


def _outcome(language: str, text: str, obj: Any) -> Outcome:
    from ghostfleet.languages.budget import BUDGET
    from ghostfleet.languages.cel import compile_cel
    from ghostfleet.languages.gotemplate import compile_template, render_yaml
    from ghostfleet.languages.jq import compile_jq

    before = BUDGET.steps
    try:
        if language == "jq":
            value: Any = len(compile_jq(text).run(obj))
        elif language == "call":
            module, _, name = text.partition(":")
            value = type(getattr(import_module(module), name)(*obj)).__name__
        elif language == "cel":
            value = type(compile_cel(text).evaluate(0, self=obj)).__name__
        else:
            value = type(render_yaml(compile_template(text), obj)).__name__
    except Exception as error:
        return {"type": type(error).__name__, "error": str(error), "steps": BUDGET.steps - before}
    return {"type": "value", "value": value, "steps": BUDGET.steps - before}
