"""Write the data file of Kubernetes' built-in kinds.

    python tools/schema/generate.py "$(go env GOMODCACHE)/k8s.io" 1.36.3 src/ghostfleet/api/data/kubernetes.json

The first argument holds the modules `kubernetes@v1.36.3`, `api@v0.36.3` and their like, as Go's module cache lays them
out. From them come the schemas (OpenAPI), the resources (discovery) and the field numbers (protobuf). The result holds
facts only, one type or resource a line, in a stable order.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from documents import read_enums, read_returned, read_schemas
from omissions import read_omissions
from protos import read_protos
from resources import read_resources
from typefacts import Types

#: Kinds that requests and answers use besides the resources themselves.
ENVELOPES = ("Status", "DeleteOptions", "WatchEvent", "Patch", "APIResourceList", "APIGroup")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the data file of Kubernetes' built-in kinds.")
    parser.add_argument("modules", type=Path, help="folder with the modules kubernetes@v..., api@v... and so on")
    parser.add_argument("version", help="Kubernetes version, such as 1.36.3")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()

    kubernetes = arguments.modules / f"kubernetes@v{arguments.version}"
    libraries = "v0." + arguments.version.partition(".")[2]
    names = ("api", "apimachinery", "apiextensions-apiserver", "metrics")
    modules = [arguments.modules / f"{name}@{libraries}" for name in names]
    protos = [path for module in modules for path in sorted(module.rglob("*.proto"))]

    documents = kubernetes / "api" / "openapi-spec" / "v3"
    resources = read_resources(kubernetes / "api" / "discovery", read_returned(documents))
    types = Types(
        read_schemas(documents),
        read_protos(protos),
        read_enums(kubernetes / "pkg" / "generated" / "openapi" / "zz_generated.openapi.go"),
    )
    for resource in resources:
        types.add_kinds_of(resource)
    types.add_meta_kinds(ENVELOPES)
    types.close()
    types.mark_omissions(read_omissions(modules))
    arguments.output.write_text(render(f"v{arguments.version}", types.facts, resources))


def render(version: str, types: dict[str, Any], resources: list[dict[str, Any]]) -> str:
    """JSON with one type and one resource a line, so that changes can be read."""
    lines = ",\n".join(f"{_compact(name)}:{_compact(fact)}" for name, fact in sorted(types.items()))
    served = ",\n".join(_compact(resource) for resource in resources)
    return f'{{"version":{_compact(version)},\n"types":{{\n{lines}\n}},\n"resources":[\n{served}\n]}}\n'


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    main()
