"""KAI's scheduler on a cluster: when it decides, and what becomes of its decisions.

A cycle begins at the ticks of `schedule-period`, counted from the start, as long as something changed since the last
one; where nothing did, a cycle would decide what it decided before. With a period of none it begins as soon as
something changes. Only three things change by themselves, stale gangs, minimal runtimes and what queues had of late
(`usage`), and these have a timer.

Binds become bind requests, which the binder carries out; a pod that must go is deleted. These go through KAI's clients
with their rate limits, and the next cycle waits until they are written, as KAI waits for its client.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.kai.barepods import BarePods
from ghostfleet.controllers.kai.bindrequests import bind_request
from ghostfleet.controllers.kai.constants import BIND_REQUESTS, POD_GROUPS
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, Clock, Handle
from ghostfleet.core.errors import ApiError
from ghostfleet.core.latency import Client
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Store
from ghostfleet.schedulers.framework.runner import Pace, Runner
from ghostfleet.schedulers.kai.cache import SchedulerCache, StatusUpdater
from ghostfleet.schedulers.kai.cache.status_updater import JobStatus, job_statuses
from ghostfleet.schedulers.kai.conf import SchedulerConfiguration
from ghostfleet.schedulers.kai.cycle import run_once
from ghostfleet.schedulers.kai.decisions import Bind, Decisions, Evict, Pipeline
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.usage import UsageHistory, allocated_by_queue, capacity

__all__ = ["KaiScheduler"]

#: What KAI calls itself in events, whatever name pods know it by.
COMPONENT = "kai-scheduler"
_USUAL_GRACE = 30


class KaiScheduler(Runner):
    """Runs KAI on one store and one clock; its kinds and controllers are there already."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        profile: Profile,
        config: SchedulerConfiguration | None = None,
        bare_pods: BarePods | None = None,
    ) -> None:
        self.config = config = config or SchedulerConfiguration()
        stated = config.schedule_period
        period = profile.duration("kai-scheduler.schedule-period") if stated is None else int(stated * SECOND)
        super().__init__(store, clock, Pace(period=period))
        self._bare_pods = bare_pods
        self._origin = clock.now()
        #: Kubernetes' own objects and KAI's have a client each.
        self._pods = profile.api_client("kai-scheduler", "KAI scheduler")
        self._kai = profile.api_client("kai-scheduler", "KAI scheduler")
        self._recorder = EventRecorder(store, COMPONENT, profile)
        self._updater = StatusUpdater(
            store,
            self._recorder,
            partial(self._when_let, self._pods, "update", "pods/status"),
            partial(self._when_let, self._kai, "update", f"{POD_GROUPS}/status"),
            config.node_pool or "default",
        )
        self._usage = UsageHistory(config.usage) if config.usage is not None else None
        #: When usage was looked at last.
        self._fetched: float | None = None
        #: Decisions that are not written yet.
        self._unwritten = 0
        #: What is to be told when they are.
        self._untold: list[Callable[[], None]] = []
        self._timer: Handle | None = None
        self.cache = SchedulerCache(store, config, self.wake)

    def stop(self) -> None:
        self.cache.stop()
        for handle in (self._handle, self._timer):
            if handle is not None:
                handle.cancel()

    def wake(self) -> None:
        """Let a cycle begin at the next tick."""
        if self._handle is not None or self._unwritten:
            return
        period, now = self._pace.period, self._clock.now()
        if period:
            ticks = max(-(-(now - self._origin) // period), (self._started - self._origin) // period + 1)
            self._handle = self._clock.call_at(self._origin + ticks * period, self._run)
        else:
            self._handle = self._clock.call_soon(self._run)

    def cycle(self, now: int) -> bool:
        self.cache.remove_hopeless_requests()
        self._record_usage(now / SECOND)
        statuses: list[JobStatus] = []

        def look(action: str, session: Session) -> None:
            if action == self.config.actions[-1]:
                statuses.extend(job_statuses(session.jobs.values(), session.queues))

        try:
            decisions = run_once(self.cache.info, self.config, now / SECOND, look)
        except Exception as error:
            # KAI would crash and be started again; the snapshot is not what it was.
            self._tell_of_crash(error)
            return False
        self._write(decisions)
        self._updater.update(statuses, self.cache.find_pod)
        for key, problem in list(self.cache.problems.values()):
            pod = self._store.find("pods", *key)
            if pod is not None:
                self._updater.mark_pod(pod, problem)
        self._set_timer(now)
        return False

    def _tell_of_crash(self, error: Exception) -> None:
        """Tell the pods that wait, and begin anew with the next change."""
        for job in self.cache.info.pod_groups.values():
            group = self._store.find(POD_GROUPS, job.namespace, job.name)
            if job.pending and group is not None:
                self._recorder.warning(group, "CycleFailed", f"Scheduling cycle failed: {error!r}")
        self.cache.rebuild()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    # -- decisions ---------------------------------------------------------------------------------------------------

    def _write(self, decisions: Decisions) -> None:
        evicted = {each.pod for each in decisions.evictions}
        # What is pipelined is only told of, after all that is written.
        self._untold = [
            partial(self._pipeline, each, self.cache.find_pod(each.pod), evicted) for each in decisions.pipelines
        ]
        written = [each for each in decisions.log if not isinstance(each, Pipeline)]
        self._unwritten += len(written)
        for each in written:
            if isinstance(each, Bind):
                self._when_let(self._kai, "create", BIND_REQUESTS, partial(self._do, partial(self._bind, each)))
            else:
                self._when_let(self._pods, "delete", "pods", partial(self._do, partial(self._evict, each)))
        if not written:
            self._tell()

    def _do(self, write: Callable[[], None]) -> None:
        write()
        self._unwritten -= 1
        if not self._unwritten:
            self._tell()
            self.wake()

    def _tell(self) -> None:
        for tell in self._untold:
            tell()
        self._untold = []

    def _when_let(self, client: Client | None, verb: str, resource: str, write: Callable[[], None]) -> None:
        """Write as soon as a client's rate limit lets it and the request has taken its time."""
        delay = client.reserve(self._clock.now()) + client.latency(verb, resource) if client is not None else 0
        if delay:
            self._clock.call_later(delay, write)
        else:
            write()

    def _bind(self, decision: Bind) -> None:
        pod = self.cache.find_pod(decision.pod)
        if pod is None or pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
            return
        if not all(decision.claims.values()):
            # The pod that had the devices is gone, its claim is not; there is a cycle when it is.
            return
        self._updater.forget_pod(decision.pod)
        where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        request = bind_request(
            pod,
            decision.node,
            received_type=decision.received_type,
            gpus=decision.gpu_count,
            portion=decision.gpu_portion,
            gpu_groups=decision.gpu_groups,
            claims=self.cache.book.allocations(pod, decision.node, decision.claims) if decision.claims else (),
            labels={self.config.node_pool_label: self.config.node_pool} if self.config.node_pool else None,
        )
        try:
            self._store.create(BIND_REQUESTS, request)
        except ApiError as error:
            told = f"Failed to bind pod {where} to node {decision.node}. {error.message}"
            self._recorder.warning(pod, "FailedBinding", told)
            return
        pool = self.config.node_pool or "default"
        told = f"Successfully assigned pod {where} to node {decision.node} at node-pool {pool}"
        self._recorder.normal(pod, "Scheduled", told)

    def _evict(self, decision: Evict) -> None:
        pod = self.cache.find_pod(decision.pod)
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return
        metadata = pod["metadata"]
        job = self.cache.info.pod_groups.get(decision.job)
        group = self._store.find(POD_GROUPS, job.namespace, job.name) if job is not None else None
        if group is not None:
            self._recorder.normal(group, "Evict", decision.message)
        if not _has_owner(pod):
            self._tell_of_bare_pod(pod)
        grace = pod["spec"].get("terminationGracePeriodSeconds", _USUAL_GRACE)
        try:
            self._store.delete("pods", metadata["namespace"], metadata["name"], uid=metadata["uid"], grace=grace)
        except ApiError:
            # It went by itself in the meantime.
            return

    def _tell_of_bare_pod(self, pod: Object) -> None:
        where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        if self._bare_pods is not None:
            self._bare_pods.expect(pod)
            told = f"Pod {where} is evicted and has no owner: the cluster brings it back, as no real one does"
            self._recorder.warning(pod, "PodRecreated", told)
        else:
            self._recorder.warning(pod, "PodLost", f"Pod {where} is evicted and has no owner: nothing makes it anew")

    def _pipeline(self, decision: Pipeline, pod: Object | None, evicted: Collection[str]) -> None:
        if pod is None:
            return
        where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        self._updater.forget_pod(decision.pod)
        why = "it moves there" if decision.pod in evicted else "pods there are leaving"
        told = f"Pod {where} was pipelined to node {decision.node}: {why}"
        self._recorder.normal(pod, "Pipelined", told)

    # -- time --------------------------------------------------------------------------------------------------------

    def _record_usage(self, now: float) -> None:
        """Note what queues hold, and look at what they held of late when it is time to."""
        if self._usage is None or self.config.usage is None:
            return
        info = self.cache.info
        self._usage.record(now, capacity(info), allocated_by_queue(info))
        if self._fetched is None or now >= self._fetched + self.config.usage.fetch_interval:
            self._fetched = now
            info.usage = self._usage.usage(now)

    def _set_timer(self, now: int) -> None:
        """Have a cycle when a stale gang's grace or a job's minimal runtime is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._next_due(now / SECOND)
        if due is not None:
            self._timer = self._clock.call_at(int(due * SECOND) + 1, self.wake)

    def _next_due(self, now: float) -> float | None:
        info, grace = self.cache.info, self.config.staleness_grace
        waits = any(job.pending for job in info.pod_groups.values())
        runtimes = {
            runtime
            for queue in info.queues.values()
            for runtime in (queue.preempt_min_runtime, queue.reclaim_min_runtime)
            if runtime
        }
        times = []
        if self._fetched is not None and self.config.usage is not None and waits:
            times.append(self._fetched + self.config.usage.fetch_interval)
        waiting = bool(runtimes) and waits
        for job in info.pod_groups.values():
            if job.stale_since is not None and grace >= 0:
                times.append(job.stale_since + grace)
            if waiting and job.last_start is not None:
                times += [job.last_start + runtime for runtime in runtimes]
        return min((time for time in times if time > now), default=None)


def _has_owner(pod: Object) -> bool:
    return any(owner.get("controller") for owner in pod["metadata"].get("ownerReferences") or ())
