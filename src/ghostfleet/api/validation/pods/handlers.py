"""Handlers: what the kubelet does to probe a container or to follow its life cycle.

A probe or a hook has exactly one handler: a command, an HTTP request, a TCP connection, a gRPC call or, for hooks only,
a sleep.
"""

from __future__ import annotations

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    invalid,
    non_negative,
    port_number,
    port_number_or_name,
    required,
)
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["lifecycle", "probes"]

_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")


def probes(errors: Errors, path: str, container: Object) -> None:
    """All three probes of a container."""
    if probe := container.get("livenessProbe"):
        _probe(errors, f"{path}.livenessProbe", probe)
        _succeeds_once(errors, f"{path}.livenessProbe", probe)
    if probe := container.get("readinessProbe"):
        _probe(errors, f"{path}.readinessProbe", probe)
        if "terminationGracePeriodSeconds" in probe:
            why = "must not be set for readinessProbes"
            grace = probe["terminationGracePeriodSeconds"]
            errors.append(FieldError.invalid(f"{path}.readinessProbe.terminationGracePeriodSeconds", grace, why))
    if probe := container.get("startupProbe"):
        _probe(errors, f"{path}.startupProbe", probe)
        _succeeds_once(errors, f"{path}.startupProbe", probe)


def _succeeds_once(errors: Errors, path: str, probe: Object) -> None:
    if (times := probe.get("successThreshold", 0)) != 1:
        errors.append(FieldError.invalid(f"{path}.successThreshold", times, "must be 1"))


def _probe(errors: Errors, path: str, probe: Object) -> None:
    _handler(errors, path, probe, _PROBE_HANDLERS, None)
    for field in _COUNTS:
        non_negative(errors, f"{path}.{field}", probe.get(field))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        errors.append(FieldError.invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0"))


def lifecycle(errors: Errors, path: str, hooks: Object, grace: int | None, *, os_name: str) -> None:
    for hook in ("postStart", "preStop"):
        if hook in hooks:
            _handler(errors, f"{path}.{hook}", hooks[hook], _HOOK_HANDLERS, grace)
    if "stopSignal" in hooks and not os_name:
        why = "may not be set for containers with empty `spec.os.name`"
        errors.append(FieldError.forbidden(f"{path}.stopSignal", why))


def _handler(errors: Errors, path: str, owner: Object, allowed: tuple[str, ...], grace: int | None) -> None:
    found = [sort for sort in allowed if sort in owner]
    if not found:
        errors.append(FieldError.required(path, "must specify a handler type"))
        return
    _check_handler(errors, f"{path}.{found[0]}", found[0], owner[found[0]], grace)
    for other in found[1:]:
        errors.append(FieldError.forbidden(f"{path}.{other}", "may not specify more than 1 handler type"))


def _check_handler(errors: Errors, path: str, sort: str, handler: Object, grace: int | None) -> None:
    if sort == "exec":
        required(errors, f"{path}.command", handler.get("command"))
    elif sort == "httpGet":
        _http(errors, path, handler)
    elif sort == "tcpSocket":
        port_number_or_name(errors, f"{path}.port", handler.get("port", 0))
    elif sort == "grpc":
        port_number(errors, f"{path}.port", handler.get("port", 0))
    elif grace is not None and not 0 <= handler.get("seconds", 0) <= grace:
        why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        errors.append(FieldError.invalid(path, handler.get("seconds", 0), why))


def _http(errors: Errors, path: str, request: Object) -> None:
    required(errors, f"{path}.path", request.get("path"))
    port_number_or_name(errors, f"{path}.port", request.get("port", 0))
    scheme = request.get("scheme", "")
    if scheme not in ("HTTP", "HTTPS"):
        errors.append(FieldError.unsupported(f"{path}.scheme", scheme, ("HTTP", "HTTPS")))
    for header in request.get("httpHeaders") or ():
        name = header.get("name", "")
        invalid(errors, f"{path}.httpHeaders", name, names.is_http_header_name(name))
