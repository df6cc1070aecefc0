"""kubectl describe of every kind, explain, logs, events, and custom resources."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.kubectl

EVERYTHING = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 2}}}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: pvc}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: rc}
spec: {selector: {app: rc}, template: {metadata: {labels: {app: rc}}, spec: {containers: [{name: a, image: b}]}}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Container, default: {cpu: 500m}}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: ep}
subsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 80}]}]
---
apiVersion: v1
kind: PodTemplate
metadata: {name: tpl}
template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: rs}
spec: {selector: {matchLabels: {app: rs}}, template: {metadata: {labels: {app: rs}}, spec: {containers: [{name: a, image: b}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: sts}
spec: {serviceName: s, selector: {matchLabels: {app: sts}}, template: {metadata: {labels: {app: sts}}, spec: {containers: [{name: a, image: b}]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: ds}
spec: {selector: {matchLabels: {app: ds}}, template: {metadata: {labels: {app: ds}}, spec: {containers: [{name: a, image: b}]}}}
---
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: cr}
data: {}
revision: 1
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: eps}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1]}]
ports: [{port: 80}]
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: lease}
spec: {holderIdentity: me, leaseDurationSeconds: 40}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: claims}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: netpol}
spec: {podSelector: {}}
"""
NEWER = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: cron}
spec:
  schedule: "@daily"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: pdb}
spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}
"""
CLUSTERWIDE = """
apiVersion: v1
kind: Node
metadata: {name: PREFIX-node}
status: {capacity: {cpu: "8", nvidia.com/gpu: "8"}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: PREFIX-pv}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp/x}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: PREFIX-sc}
provisioner: example.com/none
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: PREFIX-driver}
spec: {}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: PREFIX-class}
spec: {}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: PREFIX-flow}
spec: {priorityLevelConfiguration: {name: exempt}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: PREFIX-hooks}
"""
QUEUES = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: queues.PREFIX.example.com}
spec:
  group: PREFIX.example.com
  scope: Namespaced
  names: {plural: queues, singular: queue, kind: Queue, shortNames: [qqMINOR], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.slots, statusReplicasPath: .status.slots}}
    additionalPrinterColumns:
    - {name: Slots, type: integer, jsonPath: .spec.slots}
    - {name: Policy, type: string, jsonPath: .spec.policy, priority: 1}
    schema:
      openAPIV3Schema:
        description: A line in which workloads wait.
        type: object
        properties:
          spec:
            type: object
            required: [slots]
            properties:
              slots: {type: integer, minimum: 0, description: How many may run at once.}
              policy: {type: string, enum: [fifo, fair], default: fifo}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
QUEUE = """
apiVersion: PREFIX.example.com/v1
kind: Queue
metadata: {name: q}
spec: {slots: SLOTS}
"""


def test_describe_of_every_namespaced_kind(kubectl, space):
    kubectl.apply(EVERYTHING)
    kubectl("create", "configmap", "cm", "--from-literal=a=b")
    kubectl("create", "secret", "generic", "secret", "--from-literal=a=b")
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("create", "job", "job", "--image=nginx")
    kubectl("create", "-f", "-", "--validate=false", stdin=NEWER)
    kubectl("create", "service", "clusterip", "svc", "--tcp=80")
    kubectl("create", "quota", "quota", "--hard=pods=10")
    kubectl("create", "role", "role", "--verb=get", "--resource=pods")
    kubectl("create", "rolebinding", "rb", "--role=role", "--user=u")
    kubectl("create", "ingress", "ing", "--rule=example.com/*=svc:80")
    kinds = [
        "pod/p",
        "pvc/pvc",
        "rc/rc",
        "limitrange/limits",
        "endpoints/ep",
        "podtemplate/tpl",
        "rs/rs",
        "sts/sts",
        "ds/ds",
        "controllerrevision/cr",
        "endpointslice/eps",
        "lease/lease",
        "netpol/netpol",
        "cm/cm",
        "secret/secret",
        "deploy/web",
        "job/job",
        "cronjob/cron",
        "svc/svc",
        "quota/quota",
        "pdb/pdb",
        "role/role",
        "rolebinding/rb",
        "ing/ing",
        "sa/default",
        "resourceclaim/claim",
        "resourceclaimtemplate/claims",
    ]
    if not kubectl.has(22):  # they describe these by beta versions, which are gone
        kinds = [kind for kind in kinds if kind.split("/")[0] not in ("endpointslice", "cronjob", "pdb", "ing")]
    for kind in kinds:
        assert kind.split("/")[1] in kubectl("describe", kind)


def test_describe_of_every_clusterwide_kind(kubectl, space):
    kubectl.apply(CLUSTERWIDE.replace("PREFIX", space))
    kinds = [
        "node/PREFIX-node",
        "pv/PREFIX-pv",
        "sc/PREFIX-sc",
        "csidriver/PREFIX-driver",
        "deviceclass/PREFIX-class",
        "flowschema/PREFIX-flow",
        "validatingwebhookconfiguration/PREFIX-hooks",
        "namespace/PREFIX",
        "priorityclass/system-node-critical",
        "apiservices",
    ]
    for kind in kinds[:-1]:
        kubectl("describe", kind.replace("PREFIX", space))
    assert "nvidia.com/gpu" in kubectl("describe", f"node/{space}-node")
    kubectl("delete", "-f", "-", stdin=CLUSTERWIDE.replace("PREFIX", space))


def test_explain_prints_the_documentation_of_fields(kubectl):
    assert "FIELDS:" in kubectl("explain", "pod.spec.containers.resources")
    said = kubectl("explain", "pod.spec.containers.resources.limits")
    assert "compute resources allowed" in said
    assert "template" in kubectl("explain", "job.spec", "--recursive")
    assert "ghost" in kubectl("explain", "ghost", code=1)


def test_logs_tell_the_life_of_a_container(kubectl):
    kubectl("run", "p", "--image=busybox")
    assert kubectl("logs", "p") == ""
    if kubectl.has(24):
        state = '{"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}},"name":"p","ready":true,"restartCount":0,"image":"i","imageID":""}'
        kubectl(
            "patch",
            "pod",
            "p",
            "--subresource=status",
            "--type=merge",
            "-p",
            f'{{"status":{{"phase":"Running","containerStatuses":[{state}]}}}}',
        )
        assert "started" in kubectl("logs", "p", "--tail=5")
    assert "not found" in kubectl("logs", "ghost", code=1)


def test_events_of_both_groups_are_one(kubectl):
    kubectl.apply(
        """
apiVersion: v1
kind: Event
metadata: {name: old}
involvedObject: {kind: Pod, name: p, namespace: SPACE}
reason: Old
message: told the old way
type: Warning
lastTimestamp: "2026-01-01T00:00:00Z"
---
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: new}
regarding: {kind: Pod, name: p, namespace: SPACE}
reason: New
note: told the new way
type: Normal
action: Test
eventTime: "2026-01-01T00:00:00.000000Z"
reportingController: example.com/tests
reportingInstance: tests-1
""".replace("SPACE", kubectl.namespace)
    )
    said = kubectl("get", "events")
    assert "told the old way" in said
    assert "told the new way" in said
    assert kubectl("get", "events.v1.events.k8s.io", "-o", "jsonpath={.items[*].note}").split("told")[1:]
    kubectl("run", "p", "--image=busybox")
    if kubectl.has(24):
        assert "told the old way" in kubectl("events", "--types=Warning")


def test_custom_resources_are_like_any_other(kubectl, space):
    short = f"qq{kubectl.version[1]}"
    definition = QUEUES.replace("PREFIX", space).replace("MINOR", str(kubectl.version[1]))
    queue = QUEUE.replace("PREFIX", space)
    kubectl.apply(definition)
    kubectl("wait", "--for=condition=Established", f"crd/queues.{space}.example.com", "--timeout=10s")
    kubectl.apply(queue.replace("SLOTS", "3"))
    assert kubectl("get", short).splitlines()[0].split() == ["NAME", "SLOTS"]
    assert kubectl("get", short, "-o", "wide").splitlines()[1].split() == ["q", "3", "fifo"]
    assert "How many may run at once" in kubectl(
        "explain", "queues.spec.slots", f"--api-version={space}.example.com/v1"
    )
    refused = kubectl("apply", "-f", "-", stdin=queue.replace("SLOTS", "-1"), code=1)
    assert "spec.slots" in refused
    assert "should be greater than or equal to 0" in refused
    kubectl("patch", short, "q", "--type=merge", "-p", '{"spec":{"slots":5}}')
    kubectl("scale", short, "q", "--replicas=8")
    assert kubectl.json("get", short, "q")["spec"]["slots"] == 8
    assert "queue" in kubectl("get", "all")
    kubectl("describe", short, "q")
    kubectl("delete", "crd", f"queues.{space}.example.com")
    kubectl("get", f"queues.{space}.example.com", code=1)
