"""Replicas: what a PyTorchJob asks for, and what the pods and services of its replicas look like.

A *replica* is one pod of the job, known by its type (Master or Worker) and index. A *role* is all replicas of one type:
how many, what becomes of those that fail, and their template. Pods of a job differ from each other in their rank only,
so they are made from one template and a few variables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ghostfleet.api.strategy import apply_defaults, prepare_for_create
from ghostfleet.api.templatecache import PodTemplates
from ghostfleet.controllers.pods import owner_reference
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError

__all__ = [
    "CONTROLLER",
    "JOB_NAME",
    "MASTER",
    "REPLICA_INDEX",
    "REPLICA_TYPE",
    "WORKER",
    "Role",
    "RoleReader",
    "service_of",
    "variables_of",
]

CONTROLLER = "pytorchjob-controller"
MASTER, WORKER = "Master", "Worker"
JOB_NAME = "training.kubeflow.org/job-name"
REPLICA_TYPE = "training.kubeflow.org/replica-type"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
_OPERATOR_NAME = "training.kubeflow.org/operator-name"
_JOB_ROLE = "training.kubeflow.org/job-role"

_CONTAINER = "pytorch"
_PORT_NAME = "pytorchjob-port"
_PORT = 23456
_POLICIES = ("Always", "OnFailure", "Never", "ExitCode")
_HEADLESS: Object = {
    "clusterIP": "None",
    "clusterIPs": ["None"],
    "ipFamilies": ["IPv4"],
    "ipFamilyPolicy": "SingleStack",
}


class Role(NamedTuple):
    """All replicas of one type."""

    type: str
    #: The type as labels and names have it.
    word: str
    size: int
    restart_policy: str
    template: Object
    ports: dict[str, int]

    def pod_name(self, job: str, index: int) -> str:
        return f"{job}-{self.word}-{index}"

    def labels(self, job: str, index: int) -> dict[str, str]:
        """Labels by which a replica's pod is found, also by its service."""
        return {
            JOB_NAME: job,
            _OPERATOR_NAME: CONTROLLER,
            REPLICA_INDEX: str(index),
            REPLICA_TYPE: self.word,
        }

    def pod_labels(self, job: str, index: int, *, leads: bool) -> dict[str, str]:
        labels = self.labels(job, index)
        return {**labels, _JOB_ROLE: "master"} if leads else labels

    def selector(self, job: str) -> str:
        """The selector of the role's pods, as text."""
        return f"{JOB_NAME}={job},{_OPERATOR_NAME}={CONTROLLER},{REPLICA_TYPE}={self.word}"


class RoleReader:
    """Reads the roles of jobs; equal templates become one."""

    def __init__(self, templates: PodTemplates) -> None:
        self._templates = templates
        self._specs: dict[str, tuple[Object, str, Object]] = {}

    def read(self, job: Object) -> tuple[tuple[Role, ...], str]:
        """The roles of a job, the master's first, and what is wrong with the job, if anything."""
        given = job["spec"].get("pytorchReplicaSpecs")
        if not isinstance(given, dict) or not given:
            return (), "pytorchReplicaSpecs has no replicas"
        named = {name.capitalize(): spec for name, spec in given.items()}
        unknown = [name for name in given if name.capitalize() not in (MASTER, WORKER)]
        if unknown:
            return (), f"pytorchReplicaSpecs.{unknown[0]} is neither {MASTER} nor {WORKER}"
        roles = []
        for kind in (MASTER, WORKER):
            if kind in named:
                role, problem = self._role(kind, named[kind] or {})
                if role is None:
                    return (), problem
                roles.append(role)
        return tuple(roles), ""

    def _role(self, kind: str, spec: Object) -> tuple[Role | None, str]:
        path = f"pytorchReplicaSpecs.{kind}"
        count = spec.get("replicas", 1)
        policy = spec.get("restartPolicy") or "OnFailure"
        if policy not in _POLICIES:
            return None, f"{path}.restartPolicy is {policy!r}, expected one of {', '.join(_POLICIES)}"
        if count < 0 or (kind == MASTER and count != 1):
            expected = "1" if kind == MASTER else "0 or more"
            return None, f"{path}.replicas is {count}, expected {expected}"
        try:
            template = self._templates.read(spec.get("template"))
        except ApiError as error:
            return None, f"{path}.template: {error.message}"
        if all(each["name"] != _CONTAINER for each in template["spec"]["containers"]):
            return None, f"{path}.template has no container named {_CONTAINER}"
        whole = {**template, "spec": self._complete(kind, template["spec"], policy)}
        return Role(kind, kind.lower(), count, policy, whole, _ports(whole["spec"])), ""

    def _complete(self, kind: str, spec: Object, policy: str) -> Object:
        """The pods' spec with the role's restart policy and the port at which the replicas talk to each other."""
        known = self._specs.get(kind)
        if known is not None and known[0] is spec and known[1] == policy:
            return known[2]
        containers = [_with_port(each) if each["name"] == _CONTAINER else each for each in spec["containers"]]
        # Kubelets know nothing of exit codes: whether such a pod begins anew is for the controller to say.
        restart = "Never" if policy == "ExitCode" else policy
        complete = {**spec, "restartPolicy": restart, "containers": containers}
        self._specs[kind] = (spec, policy, complete)
        return complete


def _with_port(container: Object) -> Object:
    ports = container.get("ports") or ()
    if any(each.get("name") == _PORT_NAME for each in ports):
        return container
    return {**container, "ports": [*ports, {"name": _PORT_NAME, "containerPort": _PORT}]}


def _ports(spec: Object) -> dict[str, int]:
    (container, *_) = (each for each in spec["containers"] if each["name"] == _CONTAINER)
    return {each["name"]: each["containerPort"] for each in container["ports"] if each.get("name")}


def variables_of(job: Object, roles: tuple[Role, ...], role: Role, index: int) -> list[Object]:
    """The variables by which the processes of a replica find the others."""
    total = sum(each.size for each in roles)
    processes = str(job["spec"].get("nprocPerNode") or "auto")
    size = total * (int(processes) if processes.isascii() and processes.isdigit() else 1)
    values: dict[str, Any] = {"PYTHONUNBUFFERED": "1"}
    if roles[0].type == MASTER:
        port, address = str(roles[0].ports[_PORT_NAME]), roles[0].pod_name(job["metadata"]["name"], 0)
        rank = str(index + (role.type == WORKER))
        values |= {"MASTER_PORT": port, "PET_MASTER_PORT": port, "MASTER_ADDR": address, "PET_MASTER_ADDR": address}
        values |= {"WORLD_SIZE": str(size), "RANK": rank, "PET_NODE_RANK": rank}
    values |= {"PET_NPROC_PER_NODE": processes, "PET_NNODES": str(total)}
    return [{"name": name, "value": value} for name, value in values.items()]


def service_of(job: Object, role: Role, index: int) -> Object:
    """The headless service that gives a replica its name."""
    own = job["metadata"]
    labels = role.labels(own["name"], index)
    ports = [{"name": name, "port": port} for name, port in role.ports.items()]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": role.pod_name(own["name"], index),
            "namespace": own["namespace"],
            "labels": labels,
            "ownerReferences": [owner_reference(job)],
        },
        "spec": {**_HEADLESS, "selector": labels, "ports": ports},
    }
    return prepare_for_create("services", apply_defaults("services", service))
