"""What a real API server answers in protobuf: to which Accept headers, and how it writes objects."""

from __future__ import annotations

import base64
from pathlib import Path

from parity_material.golden import GOLDEN, write_golden
from parity_material.protobuf import ask_forms, ask_objects
from parity_material.servers import Remote
from realcluster import RealCluster

__all__ = ["record"]


def record(kubeconfig: Path) -> None:
    server, recorded = Remote(kubeconfig), RealCluster(kubeconfig).recorded()
    write_golden(GOLDEN / "forms.jsonl.gz", recorded, ask_forms(server))
    write_golden(
        GOLDEN / "protobuf.jsonl.gz",
        recorded,
        (
            {"name": name, "json": shown.decode(), "protobuf": base64.b64encode(binary).decode()}
            for name, shown, binary in ask_objects(server)
        ),
    )
