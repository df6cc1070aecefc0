"""Record what a real API server answers to the patch cases.

    python tools/record_patches.py --server https://127.0.0.1:6443 --token-file token --ca ca.crt [topic ...]

A *case* (in `tests/core/patch/cases/<topic>.yaml`) creates an object and sends patches to it, one after the other. Each
answer is written into `<topic>.json` beside it, without what differs from run to run: uid, resourceVersion, generation
and times. Use a server without controllers, so that nobody else writes to the objects.
"""

from __future__ import annotations

import argparse
import http.client
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import yaml

CASES = Path(__file__).parent.parent / "tests" / "core" / "patch" / "cases"
NAMESPACE = "patch-cases"
CONTENT_TYPES = {
    "strategic": "application/strategic-merge-patch+json",
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
UNSTABLE = ("uid", "resourceVersion", "creationTimestamp", "generation")

Object = dict[str, Any]


class Server:
    """A Kubernetes API server, spoken to in JSON."""

    def __init__(self, url: str, token: str, ca: str | None) -> None:
        self._url = url.rstrip("/")
        self._token = token
        if ca:
            self._tls = ssl.create_default_context(cafile=ca)
        else:
            self._tls = ssl.create_default_context()
            self._tls.check_hostname = False
            self._tls.verify_mode = ssl.CERT_NONE
        self._resources: dict[str, dict[str, Object]] = {}

    def send(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Object:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("Content-Type", content)
        request.add_header("User-Agent", "recorder/1")
        try:
            with urllib.request.urlopen(request, context=self._tls) as response:
                answer: Object = json.load(response)
        except urllib.error.HTTPError as error:
            answer = json.load(error)
        except http.client.RemoteDisconnected as error:
            raise SystemExit(f"the server broke down on {method} {path}: {json.dumps(body)}") from error
        return answer

    def path_of(self, api_version: str, kind: str) -> str:
        """Where objects of a kind are."""
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        if kind not in self._resources.get(root, {}):
            listed = self.send("GET", root).get("resources", [])
            self._resources[root] = {each["kind"]: each for each in reversed(listed) if "/" not in each["name"]}
        resource = self._resources[root][kind]
        scope = f"/namespaces/{NAMESPACE}" if resource["namespaced"] else ""
        return f"{root}{scope}/{resource['name']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--token-file", required=True, type=Path)
    parser.add_argument("--ca")
    parser.add_argument("topics", nargs="*")
    arguments = parser.parse_args()
    server = Server(arguments.server, arguments.token_file.read_text().strip(), arguments.ca)
    server.send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for path in sorted(CASES.glob("*.yaml")):
        if arguments.topics and path.stem not in arguments.topics:
            continue
        content = yaml.safe_load(path.read_text())
        for definition in content.get("definitions", []):
            server.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        answers = {case["name"]: record(server, case) for case in content["cases"]}
        lines = [f" {json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items()]
        path.with_suffix(".json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def record(server: Server, case: Object) -> Object:
    """Create the object, send the patches, delete it; the answers to all of it."""
    template = case.get("object") or case["steps"][0]["patch"]
    collection = server.path_of(template["apiVersion"], template["kind"])
    path = f"{collection}/{template['metadata']['name']}"
    remove(server, path, template)
    answers: Object = {"recorded": True}
    if "object" in case:
        created = server.send("POST", f"{collection}?fieldManager={case.get('creator', 'creator')}", case["object"])
        answers["created"] = stable(created)
    answers["steps"] = [stable(send_step(server, path, step)) for step in case["steps"]]
    remove(server, path, template)
    return answers


def remove(server: Server, path: str, template: Object) -> None:
    """Delete an object, doing what controllers would do otherwise."""
    server.send("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
    server.send("PATCH", path, {"metadata": {"finalizers": None}}, CONTENT_TYPES["merge"])
    if template["kind"] == "Namespace":
        server.send("PUT", f"{path}/finalize", {**template, "spec": {"finalizers": []}})


def send_step(server: Server, path: str, step: Object) -> Object:
    query = {"fieldManager": step.get("manager", "patcher")}
    if step.get("force"):
        query["force"] = "true"
    if step.get("validation"):
        query["fieldValidation"] = step["validation"]
    at = f"{path}/{step['subresource']}" if "subresource" in step else path
    return server.send("PATCH", f"{at}?{urllib.parse.urlencode(query)}", step["patch"], CONTENT_TYPES[step["type"]])


def stable(answer: Object) -> Object:
    """The answer without what differs from run to run; a time only shows that there was one."""
    if answer.get("kind") == "Status":
        return {"error": answer}
    metadata = {key: value for key, value in answer["metadata"].items() if key not in UNSTABLE}
    entries = [{**each, "time": "T"} if "time" in each else each for each in metadata.get("managedFields", [])]
    if entries:
        metadata["managedFields"] = entries
    return {"object": {**answer, "metadata": metadata}}


if __name__ == "__main__":
    main()
