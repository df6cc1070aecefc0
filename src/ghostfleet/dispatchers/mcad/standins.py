"""The Deployment that stands in for MCAD's controller.

When its pod is gone, because someone deleted it or scaled it to zero, the controller stops; when another one runs, it
starts again, and the environment of the pod sets what MCAD takes from there. The Deployment is marked as the project's
Helm chart would mark it, so that installing the chart takes it over, and uninstalling ends it.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.controllers.standins import DEPLOYMENTS, NAMESPACE, StandInPods, install_object, stand_in_deployment
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import Handle
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Store

__all__ = ["StandIns"]

_MCAD = "mcad-controller"
_CONFIG = "mcad-controller-configmap"
#: What MCAD takes from its environment, the figure it stands for, and a unit where it has none. Unset switches are off.
_ENVIRONMENT = {
    "QUOTA_ENABLED": ("quota", ""),
    "PREEMPTION": ("preemption", ""),
    "DYNAMICPRIORITY": ("dynamic-priority", ""),
    "BACKOFFTIME": ("backoff.time", "s"),
    "HEADOFLINEHOLDINGTIME": ("head-of-line.holding-time", "s"),
}


class StandIns:
    """The stand-in of one cluster; `start` and `stop` are called as MCAD's pod comes and goes."""

    def __init__(
        self, store: Store, profile: Profile, start: Callable[[Profile], None], stop: Callable[[], None]
    ) -> None:
        self._store = store
        self._clock = store.clock
        self._profile = profile
        self._delay = profile.duration("controller.start")
        self._start, self._stop = start, stop
        #: Pods of the controller, the one that leads first; a timer runs until a new leader is up.
        self._pods: dict[str, Object] = {}
        self._leader = ""
        self._starting: Handle | None = None
        StandInPods(store, (_MCAD,), self._note_controller)
        install_object(store, "configmaps", _config_map(profile))
        install_object(store, DEPLOYMENTS, _mcad_deployment(profile))

    def _note_controller(self, _: str, change: Change) -> None:
        if change.new is not None:
            self._pods[change.name] = change.new
            if not self._leader:
                # The controller runs since the cluster was made; its first pod is only the sign of it.
                self._leader = change.name
            elif len(self._pods) == 1:
                self._elect()
            return
        self._pods.pop(change.name, None)
        if change.name == self._leader:
            self._stop()
            if self._starting is not None:
                self._starting.cancel()
            if self._pods:
                self._elect()

    def _elect(self) -> None:
        """Let another pod lead, once it is up."""
        self._leader = next(iter(self._pods))
        self._starting = self._clock.call_later(self._delay, self._begin, self._pods[self._leader])

    def _begin(self, pod: Object) -> None:
        self._starting = None
        self._start(_with_environment(self._profile, self._environment_of(pod)))

    def _environment_of(self, pod: Object) -> dict[str, str]:
        """The variables of the controller's container; its own come after those of ConfigMaps."""
        variables: dict[str, str] = {}
        containers = pod["spec"]["containers"]
        container = next((each for each in containers if each["name"] == _MCAD), containers[0])
        for source in container.get("envFrom") or ():
            reference = source.get("configMapRef") or {}
            found = self._store.find("configmaps", NAMESPACE, reference.get("name", ""))
            for name, value in ((found or {}).get("data") or {}).items():
                variables[f"{source.get('prefix', '')}{name}"] = value
        for variable in container.get("env") or ():
            variables[variable["name"]] = variable.get("value", "")
        return variables


def _with_environment(profile: Profile, variables: dict[str, str]) -> Profile:
    """The profile with what an environment sets; what is no value of its kind is left alone."""
    for name, (figure, unit) in _ENVIRONMENT.items():
        text = variables.get(name, "").lower()
        value: bool | str = f"{text}{unit}"
        if isinstance(profile.figure(figure), bool):
            if text not in ("true", "false", ""):
                continue
            value = text == "true"
        elif not text.isdigit():
            continue
        profile = profile.replaced(**{figure.replace("-", "_").replace(".", "__"): value})
    return profile


def _installed(name: str, **more: str) -> Object:
    """Metadata that say by which chart an object was installed; Helm takes over only what is marked as its own."""
    annotations = {"meta.helm.sh/release-name": _MCAD, "meta.helm.sh/release-namespace": NAMESPACE}
    labels = {"app.kubernetes.io/managed-by": "Helm", **more}
    return {"name": name, "namespace": NAMESPACE, "annotations": annotations, "labels": labels}


def _config_map(profile: Profile) -> Object:
    """The settings of a profile as MCAD's environment shows them."""
    data = {}
    for name, (figure, unit) in _ENVIRONMENT.items():
        value = profile.figure(figure)
        data[name] = str(value).lower() if isinstance(value, bool) else str(value).removesuffix(unit)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _installed(_CONFIG), "data": data}


def _mcad_deployment(profile: Profile) -> Object:
    """What MCAD's chart installs, as far as others look at it."""
    settings = [{"configMapRef": {"name": _CONFIG}}]
    deployment = stand_in_deployment(_MCAD, {"app": "custom-metrics-apiserver"}, envFrom=settings)
    metadata = _installed(_MCAD, app="custom-metrics-apiserver", chart=f"{_MCAD}-0.1.0")
    # For those who ask from outside by whose rules wrappers are dispatched.
    metadata["annotations"]["ghostfleet.dev/dispatcher"] = profile.name
    return {**deployment, "metadata": metadata}
