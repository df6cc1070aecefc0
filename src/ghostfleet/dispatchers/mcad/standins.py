"""Stand-ins: the pods and Deployments that scripts look for.

MCAD and KWOK run as pods of a real cluster, and scripts find out by their names whether they are installed. Here both
are parts of one process, so Deployments of those names stand in for them: their pods need no node and run at once. The
one of MCAD is more than a name. When its pod is gone, because someone deleted it or scaled it to zero, the controller
stops; when another one runs, it starts again, and the environment of the pod can set what MCAD takes from there.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.api.defaults import apply_defaults, prepare_for_create
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import Handle
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["StandIns"]

_NAMESPACE = "kube-system"
_DEPLOYMENTS = "deployments.apps"
#: No scheduler goes by this name: nobody places these pods.
_NOBODY = "ghostfleet-stand-in"
_LABEL = "ghostfleet.dev/stand-in-for"
#: What MCAD takes from its environment, the figure it stands for, and a unit where it has none.
_ENVIRONMENT = {
    "QUOTA_ENABLED": ("quota", ""),
    "PREEMPTION": ("preemption", ""),
    "DYNAMICPRIORITY": ("dynamic-priority", ""),
    "BACKOFFTIME": ("backoff.time", "s"),
    "HEADOFLINEHOLDINGTIME": ("head-of-line.holding-time", "s"),
}


class StandIns:
    """The stand-ins of one cluster; `start` and `stop` are called as MCAD's pod comes and goes."""

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
        store.listen("pods", self._notice)
        for name, labels in (("mcad-controller", _helm("mcad-controller")), ("kwok-controller", {})):
            if store.find(_DEPLOYMENTS, _NAMESPACE, name) is None:
                store.create(_DEPLOYMENTS, _deployment(name, labels, profile if labels else None))

    def _notice(self, change: Change) -> None:
        if change.namespace != _NAMESPACE or (change.old is not None and change.new is not None):
            return
        pod = change.new or change.old
        assert pod is not None
        if pod["spec"].get("schedulerName") != _NOBODY:
            return
        if change.new is not None:
            self._clock.call_soon(self._run, change.name)
        if (pod["metadata"].get("labels") or {}).get(_LABEL) == "mcad-controller":
            self._note_controller(change)

    def _run(self, name: str) -> None:
        """Report a pod as running and ready."""
        pod = self._store.find("pods", _NAMESPACE, name)
        if pod is None or pod["status"].get("phase") != "Pending":
            return
        now = rfc3339(self._clock.now())
        conditions = [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
            for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        ]
        statuses = [
            {
                "name": each["name"],
                "image": each["image"],
                "imageID": "",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for each in pod["spec"]["containers"]
        ]
        status = {
            **pod["status"],
            "phase": "Running",
            "conditions": conditions,
            "containerStatuses": statuses,
            "startTime": now,
        }
        self._store.set_status("pods", pod, status)

    def _note_controller(self, change: Change) -> None:
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
        self._start(_from_environment(self._profile, pod))


def _from_environment(profile: Profile, pod: Object) -> Profile:
    """The profile with what the pod's environment sets; what is no value of its kind is left alone."""
    for variable in pod["spec"]["containers"][0].get("env") or ():
        figure, unit = _ENVIRONMENT.get(variable["name"], ("", ""))
        if not figure:
            continue
        text = str(variable.get("value", "")).lower()
        known = profile.figure(figure)
        value: bool | str = f"{text}{unit}"
        if isinstance(known, bool):
            if text not in ("true", "false"):
                continue
            value = text == "true"
        elif not text.isdigit():
            continue
        profile = profile.replaced(**{figure.replace("-", "_").replace(".", "__"): value})
    return profile


def _environment(profile: Profile) -> list[Object]:
    """The settings of a profile as MCAD's environment shows them."""
    shown = []
    for name, (figure, unit) in _ENVIRONMENT.items():
        value = profile.figure(figure)
        text = str(value).lower() if isinstance(value, bool) else str(value).removesuffix(unit)
        shown.append({"name": name, "value": text})
    return shown


def _helm(name: str) -> Object:
    """How MCAD's chart marks what it installs."""
    return {
        "annotations": {"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": _NAMESPACE},
        "labels": {
            "app": "custom-metrics-apiserver",
            "app.kubernetes.io/managed-by": "Helm",
            "chart": f"{name}-0.1.0",
        },
    }


def _deployment(name: str, metadata: Object, profile: Profile | None) -> Object:
    labels = {"app": name, _LABEL: name}
    container: Object = {"name": name, "image": f"ghostfleet.dev/{name}"}
    if profile is not None:
        container["env"] = _environment(profile)
        # For those who ask from outside by whose rules wrappers are dispatched.
        metadata = {**metadata, "annotations": {**metadata["annotations"], "ghostfleet.dev/dispatcher": profile.name}}
    deployment: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": _NAMESPACE, **metadata},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"schedulerName": _NOBODY, "containers": [container]},
            },
        },
    }
    return prepare_for_create(_DEPLOYMENTS, apply_defaults(_DEPLOYMENTS, deployment))
