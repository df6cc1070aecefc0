"""What a real API server answers in protobuf: to which Accept headers, and how it writes objects."""

from __future__ import annotations

import base64
from pathlib import Path

from parity_material.golden import write_golden
from parity_material.protobuf import ask_forms, ask_objects
from parity_material.servers import Remote

__all__ = ["record"]


def record(kubeconfig: Path, forms: Path, objects: Path) -> None:
    server = Remote(kubeconfig)
    write_golden(forms, ask_forms(server))
    write_golden(
        objects,
        (
            {"name": name, "json": shown.decode(), "protobuf": base64.b64encode(binary).decode()}
            for name, shown, binary in ask_objects(server)
        ),
    )
