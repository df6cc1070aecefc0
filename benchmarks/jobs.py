"""What the Job controller costs: one-pod Jobs from their creation to their completion, on the `instant` profile.

Pods are bound and ended by the benchmark itself with the least number of writes, and the time that takes is measured
apart, so that what is left is the controller's own. Python's collector of cyclic garbage is off: objects in a store
form no cycles, and a lab of this size switches it off or freezes what it has.
"""

from __future__ import annotations

import gc
import resource
import time
from random import Random

from ghostfleet.api.admission import Admission
from ghostfleet.api.strategy import apply_defaults, finish_create, prepare_for_create
from ghostfleet.controllers.jobs import JOBS, JobController, is_finished
from ghostfleet.controllers.pods import PodCreator
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.core.bucket import index_by_label, index_by_node
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.profile import load_profile
from ghostfleet.core.randomness import Streams
from ghostfleet.core.store import Store

JOBS_COUNT = 100_000
_CHUNK = 5_000


def _job(number: int, uid: str) -> Object:
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "1", "memory": "4Gi"}},
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"job-{number}", "namespace": "default", "uid": uid},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }
    return finish_create(JOBS, prepare_for_create(JOBS, apply_defaults(JOBS, job)))


class _Kubelet:
    """Binds and ends pods, and knows how long that took."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.pods: list[tuple[str, str]] = []
        self.seconds = 0.0
        store.listen("pods", self._notice)

    def _notice(self, change) -> None:
        if change.old is None:
            self.pods.append((change.namespace, change.name))

    def play(self) -> None:
        pods, self.pods = self.pods, []
        started = time.process_time()
        for place in pods:
            pod = self.store.get("pods", *place)
            bound = {**pod, "metadata": dict(pod["metadata"]), "spec": {**pod["spec"], "nodeName": "n"}}
            self.store.update("pods", bound)
        for phase, ready in (("Running", "True"), ("Succeeded", "False")):
            conditions = [{"type": "Ready", "status": ready}]
            for place in pods:
                self.store.patch_status("pods", *place, {"phase": phase, "conditions": conditions})
            self.seconds += time.process_time() - started
            self.store.clock.settle()
            started = time.process_time()


def run() -> None:
    """Print the microseconds that the controller takes for a Job's whole life, and what the process weighs."""
    store = Store(VirtualClock(), Streams(0))
    store.register("pods", {"node": index_by_node(), "job": index_by_label("batch.kubernetes.io/job-name")})
    JobController(store, PodRoutes(store), PodCreator(Admission(store, Random(0))), load_profile("instant"))
    kubelet = _Kubelet(store)
    gc.disable()
    outside = 0.0
    began = time.process_time()
    for start in range(0, JOBS_COUNT, _CHUNK):
        started = time.process_time()
        jobs = [_job(number, store.new_uid()) for number in range(start, start + _CHUNK)]
        outside += time.process_time() - started
        for job in jobs:
            store.create(JOBS, job)
        store.clock.settle()
        kubelet.play()
    seconds = time.process_time() - began
    done = sum(map(is_finished, store.list(JOBS)))
    own = seconds - outside - kubelet.seconds
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{done} Jobs complete in {seconds:.1f} s; of that {outside:.1f} s made the Jobs' objects")
    print(f"and {kubelet.seconds:.1f} s bound and ended the pods, listeners included")
    print(f"{own / JOBS_COUNT * 1e6:.1f} us a Job for the controller, the Job's own creation included")
    print(f"{memory:.0f} MiB at the peak, with {store.count('events')} events")
    gc.enable()


if __name__ == "__main__":
    run()
