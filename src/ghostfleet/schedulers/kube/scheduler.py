"""The default scheduler: kube-scheduler's part in a cluster, on one store and one clock.

It takes pods from its queue, decides about one after the other, and writes: the binding of a pod that found a node; the
condition, the event and the promise of one that did not; the deletion of pods that must make room. In cluster time a
cycle costs `cycle_cost`, and bindings go through a client with a rate limit; both are nothing unless a profile of
modelled speed says so. A pod whose binding is on its way counts as being there.

Pods are taken in *batches*: plans for all of them, then decisions, then writes. That is only about speed; each decision
is made with all earlier ones in the picture, and a batch ends at the first pod that fails.
"""

from __future__ import annotations

from random import Random

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, Clock, Handle
from ghostfleet.core.ratelimit import TokenBucket
from ghostfleet.core.store import Store
from ghostfleet.schedulers.kube.config import Configuration
from ghostfleet.schedulers.kube.cycle import Decision, place_alone, schedule_one
from ghostfleet.schedulers.kube.facts import Facts
from ghostfleet.schedulers.kube.noticing import Noticer
from ghostfleet.schedulers.kube.plan import Plan
from ghostfleet.schedulers.kube.profile import Profile
from ghostfleet.schedulers.kube.queue import Kind, QueuedPod, SchedulingQueue
from ghostfleet.schedulers.kube.recorder import Recorder
from ghostfleet.schedulers.kube.state import ClusterState
from ghostfleet.schedulers.kube.writing import Writer

__all__ = ["KubeScheduler"]

#: Pods in one turn; then other callbacks of the clock get theirs.
_TURN = 256
#: What is parked for so long is tried once more, and how often kube-scheduler looks whether something is.
_FLUSH_AFTER = 300 * SECOND
_FLUSH_EVERY = 30 * SECOND

_Placement = tuple[Object, Facts, str]


class KubeScheduler:
    """Schedules the pods that ask for one of its profiles by spec.schedulerName."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rng: Random,
        *,
        config: Configuration | None = None,
        limiter: TokenBucket | None = None,
        cycle_cost: int = 0,
    ) -> None:
        config = config or Configuration()
        self._store = store
        self._clock = clock
        self._cycle_cost = cycle_cost
        self._profiles: dict[str, Profile] = {profile.name: profile for profile in config.profiles}
        self._handle: Handle | None = None
        self._flush: Handle | None = None
        #: How many pods to take at once: more and more while they all find nodes.
        self._batch = 1
        #: The last failure, and what it holds for: nothing must have changed since.
        self._failure: tuple[Plan, int, Decision] | None = None
        self.state = ClusterState(store, rng)
        self.queue = SchedulingQueue(config.first_backoff, config.longest_backoff)
        recorders = {name: Recorder(store, name) for name in self._profiles}
        self._writer = Writer(store, self.state, recorders, limiter, self._binding_failed)
        self._noticer = Noticer(store, self.state, self.queue, self._profiles, self._soon, self._writer.forget)
        self._soon()

    def stop(self) -> None:
        """Take no more notice of the store."""
        self._noticer.stop()
        for handle in (self._handle, self._flush):
            if handle is not None:
                handle.cancel()

    def _soon(self) -> None:
        if self._handle is None:
            self._handle = self._clock.call_soon(self._run)

    # -- batches -----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._handle = None
        now = self._clock.now()
        left = _TURN
        while left > 0:
            if self._noticer.notes:
                self._wake(now)
            # When pods on nodes may help pods that wait, each must be seen before the next is taken.
            single = bool(self._cycle_cost or self.queue.wide_kinds)
            batch = self.queue.pop_many(now, 1 if single else self._batch)
            if not batch:
                return
            left -= self._try(batch, now)
            if self._cycle_cost:
                self._handle = self._clock.call_later(self._cycle_cost, self._run)
                return
        self._soon()

    def _try(self, batch: list[QueuedPod], now: int) -> int:
        """Try the pods of a batch until one fails; how many were tried."""
        placed, decision = self._place(batch, now)
        if placed == len(batch):
            self._batch = min(2 * self._batch, _TURN)
            return placed
        # Taking many pods is a waste while they fail.
        self._batch = 1
        self.queue.put_back(batch[placed + 1 :])
        self._try_last(batch[placed], decision, now)
        return placed + 1

    def _place(self, batch: list[QueuedPod], now: int) -> tuple[int, Decision | None]:
        """Place pods of a batch until one fails; how many were placed, and what was decided about that one."""
        state, queue = self.state, self.queue
        plans = [self._plan(queued.pod) for queued in batch]
        held = state.census.held_version
        placements: list[_Placement] = []
        decision = None
        for queued, known in zip(batch, plans, strict=True):
            plan = known if state.census.held_version == held else self._plan(queued.pod)
            if plan is None or "deletionTimestamp" in queued.pod["metadata"]:
                break
            if placements and (plan.volumes is not None or plan.facts.disks):
                # What the pods before it do to volumes must be seen first.
                break
            if queue.is_crowded(queued) and plan.hopeless:
                break
            decision = self._decide(plan, queued.pod, now)
            if decision.node is None:
                break
            queue.placed(queued)
            placements.append((queued.pod, plan.facts, decision.node))
            self._writer.assume(queued.pod, plan.facts, decision.node)
            decision = None
        self._writer.bind(placements)
        return len(placements), decision

    def _plan(self, pod: Object) -> Plan | None:
        if not len(self.state.table):
            return None
        return self.state.plan(self._profiles[pod["spec"].get("schedulerName", "default-scheduler")], pod)

    def _decide(self, plan: Plan, pod: Object, now: int) -> Decision:
        state, last = self.state, self._failure
        promised = "nominatedNodeName" in pod.get("status", ())
        if last is not None and last[0] is plan and last[1] == state.version and not promised:
            return last[2]
        if plan.alone and not state.nominated and not promised:
            slot = place_alone(state, plan)
            if slot is not None:
                return Decision(state.table.names[slot])
        decision = schedule_one(state, pod, plan.profile, now, plan)
        if decision.node is None and not promised and not decision.victims:
            self._failure = (plan, state.version, decision)
        return decision

    def _try_last(self, queued: QueuedPod, decision: Decision | None, now: int) -> None:
        """Deal with the pod that ended a batch: it failed, or has to be tried alone."""
        pod = queued.pod
        if "deletionTimestamp" in pod["metadata"]:
            self.queue.remove(queued.uid)
            self._writer.skipped(pod)
            return
        plan = self._plan(pod)
        if plan is None:
            self._fail(queued, None, Decision(None, "no nodes available to schedule pods", nominate=""), now)
            return
        if self.queue.is_crowded(queued) and queued.kind is not None and queued.kind.key == plan.key and plan.hopeless:
            # Nothing but the counts in its message could have changed.
            again = self.queue.park_again(queued, now)
            if again is not None:
                again.version = self.state.version
            return
        decision = decision or self._decide(plan, pod, now)
        if decision.node is None:
            self._fail(queued, plan, decision, now)
        else:
            self.queue.placed(queued)
            self._writer.assume(pod, plan.facts, decision.node)
            self._writer.bind([(pod, plan.facts, decision.node)])

    def _fail(self, queued: QueuedPod, plan: Plan | None, decision: Decision, now: int) -> None:
        pod = queued.pod
        promised = decision.nominate or (pod.get("status") or {}).get("nominatedNodeName")
        # A pod with a promise is like no other.
        key = ("promised", queued.uid) if promised or plan is None else plan.key
        kind = self.queue.park(queued, key, decision.plugins, now)
        kind.plan = None if promised else plan
        if decision.nominate is not None:
            self.state.renominate(pod, decision.nominate)
        self._writer.refuse(pod, decision)
        kind.version = self.state.version
        self._flush_later()

    def _binding_failed(self, pod: Object) -> None:
        """A pod could not be bound after all; look at it again if it is still there."""
        self._noticer.notes.pods = True
        found = self._store.find("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])
        if found is not None:
            self._noticer.see(None, found)
        self._soon()

    # -- pods that wait ----------------------------------------------------------------------------------------------

    def _wake(self, now: int) -> None:
        notes = self._noticer.taken()
        if notes.volumes:
            self._writer.look_at_volumes()
        kinds = self.queue.wide_kinds if notes.only_pods_came else self.queue.kinds
        if kinds:
            self.queue.wake([kind for kind in kinds.values() if notes.help(kind)], now)
            self._flush_later()

    def _flush_later(self) -> None:
        """Try what has been parked for long once more, should a hint have been missed."""
        if self._flush is None:
            due = [kind.since for kind in self.queue.kinds.values() if self._is_stale(kind)]
            if due:
                when, now = min(due) + _FLUSH_AFTER, self._clock.now()
                # One that is parked for longer, and of use again only now, is seen to at the next look.
                self._flush = self._clock.call_at(when if when > now else now + _FLUSH_EVERY, self._flush_parked)

    def _is_stale(self, kind: Kind) -> bool:
        """Whether the cluster has changed since a kind was tried; if not, trying again is of no use."""
        return kind.version != self.state.version

    def _flush_parked(self) -> None:
        self._flush = None
        now = self._clock.now()
        late = [kind for kind in self.queue.kinds.values() if kind.since + _FLUSH_AFTER <= now]
        self.queue.wake([kind for kind in late if self._is_stale(kind)], now)
        self._flush_later()
        self._soon()
