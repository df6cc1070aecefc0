"""How Kubernetes' own decoder names things: Go types and field paths in its complaints about JSON of the wrong sort.

A client sees `json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool`. The *struct*
is the one that declares the field, the path is dotted and has no list indices, and a struct *embedded* in another shows
up in the path by its own name although JSON has no such level. Schemas do not keep Go's names of string and map types,
so the ones that users meet are listed here.
"""

from __future__ import annotations

from ghostfleet.core.schema import Type

__all__ = ["embedded_step", "go_type", "struct_name"]

_VOLUME_SOURCE_STRUCTS = {"Volume": "VolumeSource", "PersistentVolumeSpec": "PersistentVolumeSource"}
_OWN_FIELDS = {
    "Volume": {"name"},
    "PersistentVolumeSpec": {
        "capacity",
        "accessModes",
        "claimRef",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "mountOptions",
        "volumeMode",
        "nodeAffinity",
        "volumeAttributesClassName",
    },
    "EphemeralContainer": {"targetContainerName"},
}
_EMBEDDED_BY_FIELD = {
    **{("Probe", handler): "ProbeHandler" for handler in ("exec", "httpGet", "tcpSocket", "grpc")},
    **{
        (struct, "name"): "LocalObjectReference"
        for struct in (
            "ConfigMapEnvSource",
            "ConfigMapKeySelector",
            "ConfigMapProjection",
            "ConfigMapVolumeSource",
            "SecretEnvSource",
            "SecretKeySelector",
            "SecretProjection",
        )
    },
    ("IngressRule", "http"): "IngressRuleValue",
}
_NAMED_STRINGS = {
    ("Container", "imagePullPolicy"): "v1.PullPolicy",
    ("Container", "restartPolicy"): "v1.ContainerRestartPolicy",
    ("Container", "terminationMessagePolicy"): "v1.TerminationMessagePolicy",
    ("ContainerPort", "protocol"): "v1.Protocol",
    ("CronJobSpec", "concurrencyPolicy"): "v1.ConcurrencyPolicy",
    ("DeploymentStrategy", "type"): "v1.DeploymentStrategyType",
    ("HTTPGetAction", "scheme"): "v1.URIScheme",
    ("JobSpec", "completionMode"): "v1.CompletionMode",
    ("LabelSelectorRequirement", "operator"): "v1.LabelSelectorOperator",
    ("NodeSelectorRequirement", "operator"): "v1.NodeSelectorOperator",
    ("ObjectMeta", "uid"): "types.UID",
    ("OwnerReference", "uid"): "types.UID",
    ("PersistentVolumeClaimSpec", "volumeMode"): "v1.PersistentVolumeMode",
    ("PodSpec", "dnsPolicy"): "v1.DNSPolicy",
    ("PodSpec", "preemptionPolicy"): "v1.PreemptionPolicy",
    ("PodSpec", "restartPolicy"): "v1.RestartPolicy",
    ("PodStatus", "phase"): "v1.PodPhase",
    ("PriorityClass", "preemptionPolicy"): "v1.PreemptionPolicy",
    ("Secret", "type"): "v1.SecretType",
    ("ServicePort", "protocol"): "v1.Protocol",
    ("ServiceSpec", "type"): "v1.ServiceType",
    ("ServiceSpec", "sessionAffinity"): "v1.ServiceAffinity",
    ("Taint", "effect"): "v1.TaintEffect",
    ("Toleration", "effect"): "v1.TaintEffect",
    ("Toleration", "operator"): "v1.TolerationOperator",
    ("TopologySpreadConstraint", "whenUnsatisfiable"): "v1.UnsatisfiableConstraintAction",
}
_SCALARS = {
    "string": "string",
    "boolean": "bool",
    "number": "float64",
    "bytes": "[]uint8",
    "time": "string",
    "microtime": "string",
    "duration": "string",
    "intorstring": "int32",
}


def struct_name(type_: Type) -> str:
    """`PodSpec` of `io.k8s.api.core.v1.PodSpec`."""
    return type_.name.rpartition(".")[2]


def embedded_step(type_: Type, field: str) -> str:
    """Name of the embedded struct that holds this field of the type, with a dot after it; empty if there is none."""
    struct = struct_name(type_)
    embedded = _EMBEDDED_BY_FIELD.get((struct, field), "")
    if not embedded and struct in _OWN_FIELDS and field not in _OWN_FIELDS[struct]:
        embedded = _VOLUME_SOURCE_STRUCTS.get(struct, "EphemeralContainerCommon")
    return f"{embedded}." if embedded else ""


def go_type(type_: Type, owner: Type | None = None, field: str = "") -> str:
    """Go's name of the type of a field (of the struct `owner`)."""
    if type_.sort == "object":
        package, _, struct = type_.name.rpartition(".")
        return f"{package.rpartition('.')[2]}.{struct}"
    if type_.sort == "list" and type_.items is not None:
        return f"[]{go_type(type_.items)}"
    if type_.sort == "map" and type_.items is not None:
        return "v1.ResourceList" if type_.items.sort == "quantity" else f"map[string]{go_type(type_.items)}"
    if type_.sort == "integer":
        return type_.format or "int64"
    if type_.sort == "string" and owner is not None:
        return _NAMED_STRINGS.get((struct_name(owner), field), "string")
    return _SCALARS.get(type_.sort, "interface {}")
