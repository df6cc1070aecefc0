"""Workloads that keep pods running: deployments, replica sets, stateful sets, daemon sets and their older kin.

They all have a *template* of the pods they make and a *selector* that must match it, and the pods of all of them must
be restarted forever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    dns_label,
    immutable,
    int_or_percent,
    is_more_than_all,
    label_selector,
    labels,
    non_negative,
    percent_or_int,
    required,
)
from ghostfleet.api.validation.pods.spec import pod_template
from ghostfleet.api.validation.rules import Rules, dns_label_name
from ghostfleet.api.validation.storage_claims import claim_spec
from ghostfleet.api.validation.structs import Layout, Shown, shown
from ghostfleet.core.errors import FieldError
from ghostfleet.core.selectors import selector_from_object

__all__ = ["RULES", "selector_and_template"]

_STRATEGY: Layout = (("Type", "type", ""), ("RollingUpdate", "rollingUpdate", None))
_NOT_MATCHING = "`selector` does not match template `labels`"
_FROZEN_STATEFUL_SET = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_MUTABLE_IN_STATEFUL_SET = {
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
}


def selector_and_template(errors: Errors, spec: Object, kind_name: str, *, needed: bool = True) -> None:
    """A selector that selects something, and selects what the template makes."""
    selector = spec.get("selector")
    if selector is None and needed:
        errors.append(FieldError.required("spec.selector"))
    elif selector is not None:
        label_selector(errors, "spec.selector", selector)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            why = f"empty selector is invalid for {kind_name}"
            errors.append(FieldError.invalid("spec.selector", selector, why))
    template_labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    try:
        compiled = selector_from_object(selector)
    except ValueError:
        why = "" if kind_name == "statefulset" else "invalid label selector"
        if kind_name != "daemonset":
            errors.append(FieldError.invalid("spec.selector", selector, why))
        return
    if not compiled.empty and not compiled.matches(template_labels):
        errors.append(FieldError.invalid("spec.template.metadata.labels", template_labels, _NOT_MATCHING))


def _template_for_ever(errors: Errors, spec: Object, kind: str) -> None:
    template = spec.get("template") or {}
    pod_template(errors, "spec.template", template)
    _restarts_for_ever(errors, template, kind)


def _restarts_for_ever(errors: Errors, template: Object, kind: str) -> None:
    pod = template.get("spec") or {}
    policy = pod.get("restartPolicy", "")
    if policy != "Always":
        errors.append(FieldError.unsupported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if "activeDeadlineSeconds" in pod:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(FieldError.forbidden("spec.template.spec.activeDeadlineSeconds", why))


def _same_selector(errors: Errors, new: Object, old: Object) -> None:
    after, before = (new.get("spec") or {}).get("selector"), (old.get("spec") or {}).get("selector")
    immutable(errors, "spec.selector", after, before)


# Deployments and replica sets


def _deployment(errors: Errors, deployment: Object) -> None:
    spec = deployment.get("spec") or {}
    non_negative(errors, "spec.replicas", spec.get("replicas"))
    selector_and_template(errors, spec, "deployment")
    _template_for_ever(errors, spec, "ReplicaSet")
    _strategy(errors, spec.get("strategy") or {})
    non_negative(errors, "spec.minReadySeconds", spec.get("minReadySeconds"))
    non_negative(errors, "spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        non_negative(errors, "spec.progressDeadlineSeconds", deadline)
        if deadline <= spec.get("minReadySeconds", 0):
            why = "must be greater than minReadySeconds"
            errors.append(FieldError.invalid("spec.progressDeadlineSeconds", deadline, why))


def _strategy(errors: Errors, strategy: Object) -> None:
    path, sort, rolling = "spec.strategy", strategy.get("type", ""), strategy.get("rollingUpdate")
    if sort == "Recreate":
        if rolling is not None:
            why = "may not be specified when strategy `type` is 'Recreate'"
            errors.append(FieldError.forbidden(f"{path}.rollingUpdate", why))
    elif sort == "RollingUpdate":
        if rolling is None:
            errors.append(FieldError.required(f"{path}.rollingUpdate", "this should be defaulted and never be nil"))
        else:
            _rolling_deployment(errors, f"{path}.rollingUpdate", rolling)
    else:
        errors.append(_unsupported_strategy(path, strategy, ("Recreate", "RollingUpdate")))


def _unsupported_strategy(path: str, strategy: Object, supported: Sequence[str]) -> FieldError:
    listed = ", ".join(f'"{word}"' for word in supported)
    return Shown("Unsupported value", path, shown(strategy, _STRATEGY), f"supported values: {listed}")


def _rolling_deployment(errors: Errors, path: str, rolling: Object) -> None:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    int_or_percent(errors, f"{path}.maxUnavailable", unavailable)
    int_or_percent(errors, f"{path}.maxSurge", surge)
    if percent_or_int(unavailable) == 0 and percent_or_int(surge) == 0:
        why = "may not be 0 when `maxSurge` is 0"
        errors.append(FieldError.invalid(f"{path}.maxUnavailable", unavailable, why))
    is_more_than_all(errors, f"{path}.maxUnavailable", unavailable)


def _replica_set(errors: Errors, replica_set: Object) -> None:
    spec = replica_set.get("spec") or {}
    non_negative(errors, "spec.replicas", spec.get("replicas"))
    non_negative(errors, "spec.minReadySeconds", spec.get("minReadySeconds"))
    # The kind in the message is Kubernetes' own.
    selector_and_template(errors, spec, "deployment")
    _template_for_ever(errors, spec, "ReplicaSet")


def _replication_controller(errors: Errors, controller: Object) -> None:
    spec = controller.get("spec") or {}
    non_negative(errors, "spec.minReadySeconds", spec.get("minReadySeconds"))
    selector = spec.get("selector") or {}
    required(errors, "spec.selector", selector)
    if "replicas" not in spec:
        errors.append(FieldError.required("spec.replicas"))
    non_negative(errors, "spec.replicas", spec.get("replicas"))
    template = spec.get("template")
    if template is None:
        errors.append(FieldError.required("spec.template"))
        return
    template_labels = (template.get("metadata") or {}).get("labels")
    if selector and any((template_labels or {}).get(key) != value for key, value in selector.items()):
        errors.append(FieldError.invalid("spec.template.metadata.labels", template_labels, _NOT_MATCHING))
    _template_for_ever(errors, spec, "ReplicationController")


# Stateful sets


def _stateful_set(errors: Errors, stateful_set: Object, *, fresh: bool = True) -> None:
    spec = stateful_set.get("spec") or {}
    policy = spec.get("podManagementPolicy", "")
    if not policy:
        errors.append(FieldError.required("spec.podManagementPolicy"))
    elif policy not in ("OrderedReady", "Parallel"):
        why = "must be 'OrderedReady' or 'Parallel'"
        errors.append(FieldError.invalid("spec.podManagementPolicy", policy, why))
    _stateful_strategy(errors, spec.get("updateStrategy") or {})
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        for field in ("whenDeleted", "whenScaled"):
            place, word = f"spec.persistentVolumeClaimRetentionPolicy.{field}", retention.get(field, "")
            if word not in ("Retain", "Delete"):
                errors.append(FieldError.unsupported(place, word, ("Retain", "Delete")))
    claims = spec.get("volumeClaimTemplates") or []
    if fresh:
        for index, claim in enumerate(claims):
            claim_spec(errors, f"spec.volumeClaimTemplates[{index}].spec", claim.get("spec") or {})
    non_negative(errors, "spec.replicas", spec.get("replicas"))
    non_negative(errors, "spec.minReadySeconds", spec.get("minReadySeconds"))
    non_negative(errors, "spec.ordinals.start", (spec.get("ordinals") or {}).get("start"))
    if fresh and spec.get("serviceName"):
        dns_label(errors, "spec.serviceName", spec["serviceName"])
    selector_and_template(errors, spec, "statefulset")
    template = _with_claims(spec.get("template") or {}, claims)
    pod_template(errors, "spec.template", template)
    labels(errors, "spec.template.labels", (template.get("metadata") or {}).get("labels"))
    _restarts_for_ever(errors, template, "StatefulSet")


def _with_claims(template: Object, claims: list[Object]) -> Object:
    """The template as its pods will be: with a volume for each claim, and names the set gives them."""
    pod = {key: value for key, value in (template.get("spec") or {}).items() if key not in ("hostname", "subdomain")}
    names = [(claim.get("metadata") or {}).get("name", "") for claim in claims]
    if names:
        added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)]
        pod["volumes"] = added + [volume for volume in pod.get("volumes") or () if volume.get("name") not in names]
    return {**template, "spec": pod}


def _stateful_strategy(errors: Errors, strategy: Object) -> None:
    path, sort, rolling = "spec.updateStrategy", strategy.get("type", ""), strategy.get("rollingUpdate")
    if not sort:
        errors.append(FieldError.required(path))
    elif sort == "OnDelete":
        if rolling is not None:
            why = "only allowed for updateStrategy 'RollingUpdate'"
            errors.append(FieldError.invalid(f"{path}.rollingUpdate", rolling, why))
    elif sort == "RollingUpdate":
        rolling = rolling or {}
        non_negative(errors, f"{path}.rollingUpdate.partition", rolling.get("partition"))
        if "maxUnavailable" in rolling:
            _max_unavailable(errors, f"{path}.rollingUpdate.maxUnavailable", rolling["maxUnavailable"])
    else:
        why = "must be 'RollingUpdate' or 'OnDelete'"
        errors.append(Shown("Invalid value", path, shown(strategy, _STRATEGY), why))


def _max_unavailable(errors: Errors, path: str, value: int | str) -> None:
    int_or_percent(errors, path, value)
    if percent_or_int(value) == 0:
        errors.append(FieldError.invalid(path, value, "cannot be 0"))
    is_more_than_all(errors, path, value)


def _stateful_set_update(errors: Errors, new: Object, old: Object) -> None:
    _stateful_set(errors, new, fresh=False)
    after, before = new.get("spec") or {}, old.get("spec") or {}
    frozen = (after.keys() | before.keys()) - _MUTABLE_IN_STATEFUL_SET
    if any(after.get(field) != before.get(field) for field in frozen):
        errors.append(FieldError.forbidden("spec", _FROZEN_STATEFUL_SET))


# Daemon sets


def _daemon_set(errors: Errors, daemon_set: Object) -> None:
    spec = daemon_set.get("spec") or {}
    selector_and_template(errors, spec, "daemonset", needed=False)
    _template_for_ever(errors, spec, "DaemonSet")
    non_negative(errors, "spec.minReadySeconds", spec.get("minReadySeconds"))
    _daemon_strategy(errors, spec.get("updateStrategy") or {})
    non_negative(errors, "spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def _daemon_strategy(errors: Errors, strategy: Object) -> None:
    path, sort = "spec.updateStrategy", strategy.get("type", "")
    rolling = strategy.get("rollingUpdate")
    if sort == "RollingUpdate":
        if rolling is None:
            errors.append(FieldError.required(f"{path}.rollingUpdate"))
            return
        path = f"{path}.rollingUpdate"
        unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
        for field, value in (("maxUnavailable", unavailable), ("maxSurge", surge)):
            int_or_percent(errors, f"{path}.{field}", value)
        for field, value in (("maxUnavailable", unavailable), ("maxSurge", surge)):
            is_more_than_all(errors, f"{path}.{field}", value)
        if percent_or_int(unavailable) and percent_or_int(surge):
            why = "may not be set when maxUnavailable is non-zero"
            errors.append(FieldError.invalid(f"{path}.maxSurge", surge, why))
        elif not percent_or_int(unavailable) and not percent_or_int(surge):
            errors.append(FieldError.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    elif sort != "OnDelete":
        errors.append(_unsupported_strategy(path, strategy, ("RollingUpdate", "OnDelete")))


# The rest


def _controller_revision(errors: Errors, revision: Object) -> None:
    non_negative(errors, "revision", revision.get("revision"))
    if revision.get("data") is None:
        errors.append(FieldError.required("data", "data is mandatory"))
    elif not isinstance(revision["data"], dict):
        errors.append(FieldError.required("data", "data must be a valid JSON object"))


def _same_data(errors: Errors, new: Object, old: Object) -> None:
    immutable(errors, "data", new.get("data"), old.get("data"))


def _counts(*fields: str, bounded: Sequence[str] = ()) -> Callable[[Errors, Object, Object], None]:
    """Status counters: none negative, some of them no more than all replicas."""

    def check(errors: Errors, new: Object, _old: Object) -> None:
        found = new.get("status") or {}
        for field in fields:
            non_negative(errors, f"status.{field}", found.get(field))
        replicas = found.get("replicas", 0)
        for field in bounded:
            if found.get(field, 0) > replicas:
                why = "cannot be greater than status.replicas"
                errors.append(FieldError.invalid(f"status.{field}", found.get(field, 0), why))
        if bounded and found.get("availableReplicas", 0) > found.get("readyReplicas", 0):
            why = "cannot be greater than readyReplicas"
            errors.append(FieldError.invalid("status.availableReplicas", found.get("availableReplicas", 0), why))

    return check


_REPLICAS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")
_SET_BOUNDED = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")


def _pod_template_object(errors: Errors, found: Object) -> None:
    pod_template(errors, "template", found.get("template") or {})


RULES: dict[str, Rules] = {
    "deployments.apps": Rules(
        _deployment,
        update=_same_selector,
        status=_counts(
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            bounded=("updatedReplicas", "readyReplicas", "availableReplicas"),
        ),
    ),
    "replicasets.apps": Rules(_replica_set, update=_same_selector, status=_counts(*_REPLICAS, bounded=_SET_BOUNDED)),
    "replicationcontrollers": Rules(_replication_controller, status=_counts(*_REPLICAS, bounded=_SET_BOUNDED)),
    "statefulsets.apps": Rules(
        _stateful_set,
        name=dns_label_name,
        update=_stateful_set_update,
        again_on_update=False,
        status=_counts(
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            bounded=("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
        ),
    ),
    "daemonsets.apps": Rules(
        _daemon_set,
        update=_same_selector,
        status=_counts("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
    ),
    "controllerrevisions.apps": Rules(_controller_revision, update=_same_data),
    "podtemplates": Rules(_pod_template_object),
}
