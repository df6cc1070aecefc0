"""Role bindings and certificates in one line."""

from __future__ import annotations

from ghostfleet.core.changes import Object
from ghostfleet.core.timestamps import age
from ghostfleet.server.tables.cells import created, items, label_text, name_of, part
from ghostfleet.server.tables.printers import AGE, NAME, Cell, Printers, text, wide

__all__ = ["ACCESS"]

ACCESS = Printers()

_BINDING = (
    NAME,
    text("Role", "Role that is granted."),
    AGE,
    wide("Users", "Users it is granted to."),
    wide("Groups", "Groups it is granted to."),
    wide("ServiceAccounts", "Service accounts it is granted to."),
)


def _subjects(binding: Object, kind: str) -> list[str]:
    named = [subject for subject in items(binding, "subjects") if subject.get("kind") == kind]
    if kind == "ServiceAccount":
        return [f"{subject.get('namespace') or ''}/{subject.get('name') or ''}" for subject in named]
    return [subject.get("name") or "" for subject in named]


@ACCESS.of("rolebindings.rbac.authorization.k8s.io", *_BINDING)
@ACCESS.of("clusterrolebindings.rbac.authorization.k8s.io", *_BINDING)
def binding(obj: Object, now: int) -> list[Cell]:
    role = part(obj, "roleRef")
    return [
        name_of(obj),
        f"{role.get('kind') or ''}/{role.get('name') or ''}",
        created(obj, now),
        *(", ".join(_subjects(obj, kind)) for kind in ("User", "Group", "ServiceAccount")),
    ]


def _request_word(request: Object) -> str:
    status = part(request, "status")
    said = {found.get("type") for found in items(status, "conditions")}
    words = ["Denied" if "Denied" in said else "Approved" if "Approved" in said else "Pending"]
    if "Failed" in said:
        words.append("Failed")
    if status.get("certificate"):
        words.append("Issued")
    return ",".join(words)


@ACCESS.of(
    "certificatesigningrequests.certificates.k8s.io",
    NAME,
    AGE,
    text("SignerName", "Who is asked to sign."),
    text("Requestor", "Who asks."),
    text("RequestedDuration", "How long the certificate should be valid."),
    text("Condition", "What became of the request."),
)
def certificate_signing_request(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    seconds = spec.get("expirationSeconds")
    return [
        name_of(obj),
        created(obj, now),
        spec.get("signerName") or "<none>",
        spec.get("username") or "",
        "<none>" if seconds is None else age(seconds * 1_000_000),
        _request_word(obj),
    ]


@ACCESS.of("clustertrustbundles.certificates.k8s.io", NAME, text("SignerName", "Signer the bundle is of."))
def cluster_trust_bundle(obj: Object, _now: int) -> list[Cell]:
    return [name_of(obj), part(obj, "spec").get("signerName") or "<none>"]


@ACCESS.of(
    "podcertificaterequests.certificates.k8s.io",
    NAME,
    text("PodName", "Pod that asks."),
    text("ServiceAccountName", "Service account of the pod."),
    text("NodeName", "Node of the pod."),
    text("SignerName", "Who is asked to sign."),
    text("State", "What became of the request."),
    text("UnverifiedUserAnnotations", "What the pod says of itself."),
)
def pod_certificate_request(obj: Object, _now: int) -> list[Cell]:
    spec = part(obj, "spec")
    ends = [found.get("type") or "" for found in items(part(obj, "status"), "conditions")]
    state = next((end for end in reversed(ends) if end in ("Issued", "Denied", "Failed")), "Pending")
    return [
        name_of(obj),
        *(spec.get(field) or "" for field in ("podName", "serviceAccountName", "nodeName", "signerName")),
        state,
        label_text(spec.get("unverifiedUserAnnotations")),
    ]
