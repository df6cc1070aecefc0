"""Jobs.

A job runs pods until enough of them have succeeded, so their restart policy may not be Always. What a job is about is
fixed when it is created; only a suspended job's pods may still be moved to other nodes or resized.
"""

from __future__ import annotations

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    WithoutValue,
    immutable,
    invalid,
    label_selector,
    non_negative,
    qualified_name,
)
from ghostfleet.api.validation.jobstatus import job_status
from ghostfleet.api.validation.pods.spec import pod_template
from ghostfleet.api.validation.rules import Rules
from ghostfleet.api.validation.structs import Layout, Shown, shown
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError
from ghostfleet.core.selectors import selector_from_object

__all__ = ["RULES", "job_spec"]

_SUCCESS_POLICY: Layout = (
    ("Rules", "rules", (("SucceededIndexes", "succeededIndexes", None), ("SucceededCount", "succeededCount", None))),
)
_MAX_INDEXED_PARALLELISM = 100_000
_SOFT_COMPLETIONS = 100_000
_SOFT_PARALLELISM = 10_000
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_CONDITION_STATUSES = ("False", "True", "Unknown")
_COUNTERS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_NOT_MATCHING = "`selector` does not match template `labels`"
_FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")


def _job(errors: Errors, job: Object) -> None:
    spec, metadata = job.get("spec") or {}, job.get("metadata") or {}
    if not spec.get("manualSelector") and spec.get("selector") is not None:
        _generated_selector(errors, spec, metadata)
    job_spec(errors, "spec", spec)
    _job_selector(errors, spec)
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        host = f"{metadata.get('name', '')}-{completions - 1}"
        if names.is_dns1123_label(host):
            why = f"will not able to create pod with invalid DNS label: {host}"
            errors.append(FieldError.invalid("metadata.name", metadata.get("name", ""), why))


def _generated_selector(errors: Errors, spec: Object, metadata: Object) -> None:
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    path = "spec.template.metadata.labels"
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    expected = {
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    if not uid:
        errors.append(FieldError.required("metadata.uid"))
    for key, value in expected.items():
        if key not in labels:
            errors.append(FieldError.required(f"{path}[{key}]", f"must be '{value}'"))
        elif labels[key] != value:
            errors.append(FieldError.invalid(f"{path}[{key}]", labels, f"must be '{value}'"))
    try:
        matches = selector_from_object(spec["selector"]).matches(expected)
    except ValueError:
        return
    if not matches:
        errors.append(FieldError.invalid("spec.selector", spec["selector"], "`selector` not auto-generated"))


def _job_selector(errors: Errors, spec: Object) -> None:
    selector = spec.get("selector")
    if selector is None:
        errors.append(FieldError.required("spec.selector"))
    label_selector(errors, "spec.selector", selector)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    try:
        matches = selector_from_object(selector).matches(labels)
    except ValueError:
        return
    if not matches:
        errors.append(FieldError.invalid("spec.template.metadata.labels", labels, _NOT_MATCHING))


def job_spec(errors: Errors, path: str, spec: Object) -> None:
    """What a job and the template of a cron job have in common: all but the selector."""
    for counter in (*_COUNTERS, "backoffLimitPerIndex", "maxFailedIndexes"):
        non_negative(errors, f"{path}.{counter}", spec.get(counter))
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        errors.append(FieldError.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if "managedBy" in spec:
        _managed_by(errors, f"{path}.managedBy", spec["managedBy"])
    mode = spec.get("completionMode")
    if mode not in (None, "NonIndexed", "Indexed"):
        errors.append(FieldError.unsupported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed":
        _indexed(errors, path, spec)
    elif mode in (None, "NonIndexed"):
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if field in spec:
                why = "requires indexed completion mode"
                errors.append(FieldError.invalid(f"{path}.{field}", spec[field], why))
    if "podFailurePolicy" in spec:
        _pod_failure_policy(errors, f"{path}.podFailurePolicy", spec)
    if "successPolicy" in spec:
        _success_policy(errors, f"{path}.successPolicy", spec)
    if "podReplacementPolicy" in spec:
        known = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
        if spec["podReplacementPolicy"] not in known:
            errors.append(FieldError.unsupported(f"{path}.podReplacementPolicy", spec["podReplacementPolicy"], known))
    pod_template(errors, f"{path}.template", spec.get("template") or {})
    _restart_policy(errors, f"{path}.template.spec.restartPolicy", spec)


def _managed_by(errors: Errors, path: str, manager: str) -> None:
    domain, slash, rest = manager.partition("/")
    if not manager:
        errors.append(FieldError.required(path))
    elif not slash or not domain or not rest:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        errors.append(FieldError.invalid(path, manager, why))
    else:
        invalid(errors, path, domain, names.is_dns1123_subdomain(domain))
    if len(manager) > 63:
        errors.append(FieldError.too_long(path, 63))


def _indexed(errors: Errors, path: str, spec: Object) -> None:
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    failed = spec.get("maxFailedIndexes")

    def at_most(field: str, value: int | None, limit: int, words: str) -> None:
        if value is not None and value > limit:
            errors.append(FieldError.invalid(f"{path}.{field}", value, f"must be less than or equal to {words}"))

    if completions is None:
        errors.append(FieldError.required(f"{path}.completions", "when completion mode is Indexed"))
    at_most(
        "parallelism",
        parallelism,
        _MAX_INDEXED_PARALLELISM,
        f"{_MAX_INDEXED_PARALLELISM} when completion mode is Indexed",
    )
    if completions is not None:
        at_most("maxFailedIndexes", failed, completions, "completions")
    at_most("maxFailedIndexes", failed, _SOFT_COMPLETIONS, str(_SOFT_COMPLETIONS))
    if completions is not None and completions > _SOFT_COMPLETIONS and "backoffLimitPerIndex" in spec:
        if failed is None:
            why = f"must be specified when completions is above {_SOFT_COMPLETIONS}"
            errors.append(FieldError.required(f"{path}.maxFailedIndexes", why))
        words = (
            f"{_SOFT_PARALLELISM} when completions are above {_SOFT_COMPLETIONS} and used with backoff limit per index"
        )
        at_most("parallelism", parallelism, _SOFT_PARALLELISM, words)
        at_most("maxFailedIndexes", failed, _SOFT_PARALLELISM, words)


def _restart_policy(errors: Errors, path: str, spec: Object) -> None:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("Always", ""):
        errors.append(FieldError.required(path, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        errors.append(FieldError.unsupported(path, policy, ("OnFailure", "Never")))
    elif "podFailurePolicy" in spec and policy != "Never":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        errors.append(FieldError.invalid(path, policy, why))


def _pod_failure_policy(errors: Errors, path: str, spec: Object) -> None:
    rules = spec["podFailurePolicy"].get("rules") or []
    if len(rules) > 20:
        errors.append(FieldError.too_many(f"{path}.rules", len(rules), 20))
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = {one.get("name") for field in ("containers", "initContainers") for one in pod.get(field) or ()}
    for index, rule in enumerate(rules):
        place = f"{path}.rules[{index}]"
        _action(errors, f"{place}.action", rule.get("action", ""), per_index="backoffLimitPerIndex" in spec)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
        if codes is not None:
            _exit_codes(errors, f"{place}.onExitCodes", codes, containers)
        for at, pattern in enumerate(conditions):
            _condition(errors, f"{place}.onPodConditions[{at}]", pattern)
        if codes is not None and conditions:
            why = "specifying both OnExitCodes and OnPodConditions is not supported"
            errors.append(WithoutValue("Invalid value", place, None, why))
        if codes is None and not conditions:
            why = "specifying one of OnExitCodes and OnPodConditions is required"
            errors.append(WithoutValue("Invalid value", place, None, why))


def _listed(words: tuple[str, ...]) -> str:
    return "valid values: [" + " ".join(f'"{word}"' for word in words) + "]"


def _action(errors: Errors, path: str, action: str, *, per_index: bool) -> None:
    if not action:
        errors.append(FieldError.required(path, _listed(_ACTIONS)))
    elif action == "FailIndex" and not per_index:
        errors.append(FieldError.invalid(path, action, "requires the backoffLimitPerIndex to be set"))
    elif action not in _ACTIONS:
        errors.append(FieldError.unsupported(path, action, _ACTIONS))


def _condition(errors: Errors, path: str, pattern: Object) -> None:
    qualified_name(errors, f"{path}.type", pattern.get("type", ""))
    status = pattern.get("status", "")
    if not status:
        errors.append(FieldError.required(f"{path}.status", _listed(_CONDITION_STATUSES)))
    elif status not in _CONDITION_STATUSES:
        errors.append(FieldError.unsupported(f"{path}.status", status, _CONDITION_STATUSES))


def _exit_codes(errors: Errors, path: str, codes: Object, containers: set[str]) -> None:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    if not operator:
        errors.append(FieldError.required(f"{path}.operator", _listed(("In", "NotIn"))))
    elif operator not in ("In", "NotIn"):
        errors.append(FieldError.unsupported(f"{path}.operator", operator, ("In", "NotIn")))
    if "containerName" in codes and codes["containerName"] not in containers:
        why = "must be one of the container or initContainer names in the pod template"
        errors.append(FieldError.invalid(f"{path}.containerName", codes["containerName"], why))
    if not values:
        errors.append(FieldError.invalid(f"{path}.values", codes.get("values"), "at least one value is required"))
    elif len(values) > 255:
        errors.append(FieldError.too_many(f"{path}.values", len(values), 255))
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(FieldError.invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator"))
        if value in values[:index]:
            errors.append(FieldError.duplicate(f"{path}.values[{index}]", value))
    if values != sorted(values):
        errors.append(FieldError.invalid(f"{path}.values", values, "must be ordered"))


def _success_policy(errors: Errors, path: str, spec: Object) -> None:
    policy = spec["successPolicy"]
    if spec.get("completionMode") != "Indexed":
        value = shown(policy, _SUCCESS_POLICY)
        errors.append(Shown("Invalid value", path, value, "requires indexed completion mode"))
        return
    rules = policy.get("rules") or []
    if not rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        errors.append(FieldError.required(f"{path}.rules", why))
    if len(rules) > 20:
        errors.append(FieldError.too_many(f"{path}.rules", len(rules), 20))
    completions = spec.get("completions", 0)
    for index, rule in enumerate(rules):
        place, count = f"{path}.rules[{index}]", rule.get("succeededCount")
        if count is None and "succeededIndexes" not in rule:
            why = "at least one of succeededCount or succeededIndexes must be specified"
            errors.append(FieldError.required(place, why))
        non_negative(errors, f"{place}.succeededCount", count)
        if count is not None and count > completions:
            why = f"must be less than or equal to {completions} (the number of specified completions)"
            errors.append(FieldError.invalid(f"{place}.succeededCount", count, why))


# Updates


def _job_update(errors: Errors, new: Object, old: Object) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    job_spec(errors, "spec", after)
    _job_selector(errors, after)
    _completions_update(errors, after, before)
    immutable(errors, "spec.selector", after.get("selector"), before.get("selector"))
    _template_update(errors, after, before, old)
    for field in _FIXED:
        immutable(errors, f"spec.{field}", after.get(field), before.get(field))


def _completions_update(errors: Errors, new: Object, old: Object) -> None:
    after, before = new.get("completions"), old.get("completions")
    if new.get("completionMode") != "Indexed":
        immutable(errors, "spec.completions", after, before)
    elif after != before and after is not None and after != new.get("parallelism"):
        why = "can only be modified in tandem with spec.parallelism"
        errors.append(FieldError.invalid("spec.completions", after, why))


def _template_update(errors: Errors, new: Object, old: Object, old_job: Object) -> None:
    after, before = new.get("template") or {}, old.get("template") or {}
    if after == before:
        return
    suspended = bool(old.get("suspend"))
    if suspended and not (old_job.get("status") or {}).get("active"):
        before = _as_redirected(before, after)
    if not suspended:
        immutable(errors, "spec.template", after, before)
        return
    pods = _with_resources(before.get("spec") or {}, after.get("spec") or {})
    immutable(errors, "spec.template.spec", after.get("spec") or {}, pods)


def _as_redirected(old: Object, new: Object) -> Object:
    """The old template with the new one's scheduling directives, which a job that has not started may change."""
    spec, wanted = dict(old.get("spec") or {}), new.get("spec") or {}
    affinity = {key: value for key, value in (spec.get("affinity") or {}).items() if key != "nodeAffinity"}
    if node_affinity := (wanted.get("affinity") or {}).get("nodeAffinity"):
        affinity["nodeAffinity"] = node_affinity
    _set(spec, "affinity", affinity or ({} if "affinity" in wanted else None))
    for field in ("nodeSelector", "tolerations", "schedulingGates"):
        _set(spec, field, wanted.get(field))
    return {**new, "spec": spec}


def _set(spec: Object, field: str, value: object) -> None:
    spec.pop(field, None)
    if value is not None:
        spec[field] = value


def _with_resources(old: Object, new: Object) -> Object:
    """The old pod spec with the new one's resources, which a suspended job may change."""
    spec = dict(old)
    for field in ("containers", "initContainers"):
        before, after = old.get(field) or [], new.get(field) or []
        if before and len(before) == len(after):
            spec[field] = [
                {**was, "resources": now["resources"]}
                if was.get("name") == now.get("name") and "resources" in now
                else was
                for was, now in zip(before, after, strict=True)
            ]
    return spec


RULES: dict[str, Rules] = {
    "jobs.batch": Rules(_job, update=_job_update, again_on_update=False, status=job_status),
}
