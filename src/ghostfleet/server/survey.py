"""A survey: what a running cluster says when it is asked how it is."""

from __future__ import annotations

import re
import ssl
import urllib.error
import urllib.request
from typing import Any

import orjson
import yaml

from ghostfleet.server.health import CLOCK, COMPONENTS
from ghostfleet.server.instances import Instance, InstanceRecord

__all__ = ["SurveyError", "survey"]

_COUNTED = {"namespaces": "/api/v1/namespaces", "nodes": "/api/v1/nodes", "pods": "/api/v1/pods"}
_PATIENCE_SECONDS = 5.0


class SurveyError(Exception):
    """The cluster does not answer as it should."""


def survey(instance: Instance, record: InstanceRecord) -> dict[str, Any]:
    """Facts about a running cluster, in the order in which a person wants them."""
    asked = _Client(instance, record)
    facts: dict[str, Any] = {
        "name": record.name,
        "state": _state(asked.readiness()),
        "url": record.url,
        "version": record.version,
        "runtime": record.runtime,
        "clock": record.clock,
        "started": record.started,
        "pid": record.pid,
        "kubeconfig": str(instance.kubeconfig),
    }
    for name, path in _COUNTED.items():
        facts[name] = asked.count(path)
    return facts


def _state(readiness: str) -> str:
    """One line for what `/readyz` says."""
    if readiness == "ok":
        return "ready"
    wrong = dict(re.findall(r"^\[-\](\S+) failed: (.*)$", readiness, re.MULTILINE))
    failed = f"failed: {wrong[COMPONENTS]}" if COMPONENTS in wrong else ""
    return "; ".join(filter(None, (failed, wrong.get(CLOCK)))) or "not ready"


class _Client:
    """Just enough of a client for a survey."""

    def __init__(self, instance: Instance, record: InstanceRecord) -> None:
        try:
            config = yaml.safe_load(instance.kubeconfig.read_text())
            self._token = config["users"][0]["user"]["token"]
            authority = instance.directory / "ca.crt"
            self._context = ssl.create_default_context(cafile=str(authority)) if authority.exists() else None
        except (OSError, yaml.YAMLError, KeyError, IndexError, TypeError, ssl.SSLError) as error:
            raise SurveyError(f"cannot read {instance.kubeconfig}: {error}") from error
        self._url = record.url
        self._log = instance.log
        self._name = record.name

    def readiness(self) -> str:
        try:
            return self.text("/readyz")
        except SurveyError as error:
            # A server that is not ready answers with an error, and says why.
            if isinstance(error.__cause__, urllib.error.HTTPError):
                return error.__cause__.read().decode()
            raise

    def text(self, path: str) -> str:
        request = urllib.request.Request(self._url + path, headers={"Authorization": f"Bearer {self._token}"})
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE_SECONDS, context=self._context) as answer:
                body: bytes = answer.read()
                return body.decode()
        except (OSError, urllib.error.URLError) as error:
            log = f"; {self._log} may say why" if self._log.exists() else ""
            raise SurveyError(f"cluster {self._name} does not answer at {self._url}: {error}{log}") from error

    def count(self, path: str) -> int:
        page = orjson.loads(self.text(f"{path}?limit=1"))
        return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))
