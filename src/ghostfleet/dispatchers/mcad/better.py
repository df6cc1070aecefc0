"""A better dispatcher: what MCAD could be.

A wrapper is dispatched when each of its pods has room on a node that it may run on, all at the same time; what is
reserved for a wrapper is taken into account until its pods are bound. Nothing is tried by the clock: wrappers are
looked at when they come, and when something becomes free. Those who do not fit keep nobody waiting who does; but one
that has waited long enough gets nodes *held* for it, which nobody else is placed on, until it fits. A dispatched
wrapper whose pods find no node after all, or too few of whose pods run, gives its place back and waits again.
"""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import Handle
from ghostfleet.core.profile import load_profile
from ghostfleet.dispatchers.mcad.conditions import (
    COMPLETED,
    FAILED,
    PENDING,
    backed_off,
    head_of_line,
    may_run,
    micro_time,
    queued,
)
from ghostfleet.dispatchers.mcad.demand import PodGroup, disagreements, pod_groups
from ghostfleet.dispatchers.mcad.dispatch import NOT_RUNNABLE
from ghostfleet.dispatchers.mcad.followup import FollowUp
from ghostfleet.dispatchers.mcad.placement import PodPlacement
from ghostfleet.dispatchers.mcad.reasons import no_place
from ghostfleet.dispatchers.mcad.waiting import Signature, WaitingLines
from ghostfleet.dispatchers.mcad.wrapper import QUOTA_SUBTREES, Key, Wrapper

__all__ = ["BetterMcad"]


class _Waiting(NamedTuple):
    """A wrapper that waits, and the pods it needs room for."""

    wrapper: Wrapper
    groups: tuple[PodGroup, ...]


class BetterMcad(FollowUp):
    """Dispatches a wrapper once all of its pods have room at the same time."""

    def _begin(self) -> None:
        self.lines = WaitingLines()
        self._waiting: dict[Key, _Waiting] = {}
        self._turn_handle: Handle | None = None
        self._aging: Handle | None = None
        #: For whom nodes are held.
        self.holder: Key | None = None
        self._reserves_after = self.profile.duration("reservation.after")
        #: Whether wrappers may belong to other quota than when they came.
        self._trees_changed = False
        self._stops.append(self._api.store.listen(QUOTA_SUBTREES, self._notice_tree, status=False))
        self._recorder = EventRecorder(self._api.store, "mcad", load_profile("instant"))
        super()._begin()

    def _end(self) -> None:
        super()._end()
        for handle in (self._turn_handle, self._aging):
            if handle is not None:
                handle.cancel()

    # -- noticing ----------------------------------------------------------------------------------------------------

    def _added(self, key: Key) -> None:
        self._see_first(key)
        wrapper = self._readable(key)
        status = self.appwrappers.status(key)
        if wrapper is None or status.get("state") in (COMPLETED, FAILED):
            return
        if status.get("canrun"):
            self._take_over(wrapper)
        elif key not in self.lines and key not in self._rejoining:
            self._join(wrapper)

    def _changed(self, key: Key, _obj: Object) -> None:
        """Only changes of the spec or the labels matter, and only to those who wait."""
        if key in self.lines:
            wrapper = self._readable(key)
            if wrapper is not None and wrapper is not self._waiting[key].wrapper:
                self.lines.remove(key)
                self._join(wrapper)

    def _gone(self, key: Key) -> None:
        self._leave(key)
        handle = self._rejoining.pop(key, None)
        if handle is not None:
            handle.cancel()
        self._retire(key)
        super()._gone(key)

    def _retire(self, key: Key) -> None:
        if self.holder == key:
            self._let_go()
        super()._retire(key)

    def _leave(self, key: Key) -> None:
        """Wait no longer."""
        self.lines.remove(key)
        self._waiting.pop(key, None)

    def _notice_tree(self, _change: Change) -> None:
        self._trees_changed = True
        self._freed()

    # -- waiting -----------------------------------------------------------------------------------------------------

    def _pods_of(self, wrapper: Wrapper) -> tuple[PodGroup, ...]:
        try:
            return tuple(group for item in wrapper.items for group in pod_groups(item) if group.count > 0)
        except ValueError:
            # What its containers ask for is no quantity: the API will say so when the item is created.
            return ()

    def _signature(self, wrapper: Wrapper, groups: tuple[PodGroup, ...]) -> Signature:
        shapes = tuple((group.count, group.each, self.occupancy.table.eligibility(group.spec)) for group in groups)
        return (wrapper.priority, shapes, tuple(sorted(self.quotas.forest.leaves_of(wrapper.labels).items())))

    def _join(self, wrapper: Wrapper) -> None:
        key = wrapper.key
        groups = self._pods_of(wrapper)
        self._waiting[key] = _Waiting(wrapper, groups)
        for warning in disagreements(wrapper) if groups else ():
            self._recorder.warning(wrapper.object, "ResourcesDisagree", warning)
        may_fit = self.lines.add(key, self._signature(wrapper, groups), wrapper.priority)
        self._later(self.costs.write(), self._say_queued, key)
        if may_fit:
            self._soon()

    def _say_queued(self, key: Key) -> None:
        """Write that a wrapper waits, if it still does."""
        status = self.appwrappers.status(key)
        if key in self.lines and status.get("state") != PENDING:
            self.appwrappers.write(key, queued(status, self._clock.now()), "join - setQueueing")

    def _freed(self) -> None:
        if len(self.lines):
            self.lines.unblock()
            self._soon()

    def _soon(self) -> None:
        if self._turn_handle is None:
            self._turn_handle = self._clock.call_soon(self._turn)

    # -- the turn ----------------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        """Dispatch all that fit."""
        self._turn_handle = None
        if self._trees_changed:
            self._line_up_again()
        for key in self.lines.heads():
            wrapper, groups = self._waiting[key]
            plan = self.occupancy.table.plan(groups, held=self.holder == key)
            if plan is None:
                self._refuse(key, NOT_RUNNABLE, self._why(groups))
            else:
                self._ask_quota(wrapper, plan)
        self._consider_holding()

    def _line_up_again(self) -> None:
        """Sort those who wait anew, by the quota trees as they are now."""
        self._trees_changed = False
        self.quotas.refresh()
        for key in self.lines.waiting():
            wrapper, groups = self._waiting[key]
            self.lines.remove(key)
            self.lines.add(key, self._signature(wrapper, groups), wrapper.priority)

    def _ask_quota(self, wrapper: Wrapper, plan: PodPlacement) -> None:
        key = wrapper.key
        victims: tuple[Key, ...] = ()
        if self.quotas.active:
            forest = self.quotas.forest
            answer = forest.allocate(
                key,
                forest.leaves_of(wrapper.labels),
                self.appwrappers.demand(key).total,
                priority=wrapper.priority,
                preemptable=self._preemption,
            )
            if not answer.granted:
                leaf = forest.leaves_of(wrapper.labels)[answer.tree]
                self._refuse(key, "quota limit exceeded", f"{answer.message}: node '{leaf}'")
                return
            victims = answer.victims
        for victim in victims:
            self._send_back(victim, "QuotaReclaimed", f"{key[0]}/{key[1]} has the older right to its quota")
        self._leave(key)
        if self.holder == key:
            self._let_go()
        self._dispatch(wrapper, plan)

    def _why(self, groups: tuple[PodGroup, ...]) -> str:
        """Why the pods of a wrapper find no room."""
        return f"Insufficient resources to dispatch AppWrapper: {no_place(groups, self.occupancy.table)}."

    def _refuse(self, key: Key, reason: str, message: str) -> None:
        self.lines.block(key)
        status = self.appwrappers.status(key)
        if any(each.get("message") == message for each in (status.get("conditions") or ())[-1:]):
            return
        now = self._clock.now()
        self.appwrappers.remember(key, backed_off(head_of_line(queued(status, now), now), now, reason, message))
        self._later(self.costs.write(), self._say_refused, key)

    def _say_refused(self, key: Key) -> None:
        if key in self.lines:
            self.appwrappers.write(key, self.appwrappers.status(key), "turn - setBackoff")

    # -- holding nodes -----------------------------------------------------------------------------------------------

    def _consider_holding(self) -> None:
        """Hold nodes for the first of those that do not fit, once it has waited long enough."""
        key = self.lines.oldest_blocked()
        if key is None or key == self.holder:
            return
        since = micro_time(self.appwrappers.status(key), "controllerfirsttimestamp") or self._clock.now()
        if since + self._reserves_after > self._clock.now():
            if self._aging is None:
                self._aging = self._clock.call_at(since + self._reserves_after, self._age)
            return
        plan = self.occupancy.table.plan(self._waiting[key].groups, empty=True)
        if plan is not None:
            self.holder = key
            self.occupancy.table.hold(plan)

    def _age(self) -> None:
        self._aging = None
        self._consider_holding()
        # What is held by now may be just what it takes.
        self._freed()

    def _let_go(self) -> None:
        self.holder = None
        self.occupancy.table.let_go()
        self._freed()

    # -- dispatching -------------------------------------------------------------------------------------------------

    def _dispatch(self, wrapper: Wrapper, plan: PodPlacement) -> None:
        key = wrapper.key
        self.occupancy.reserve(key, plan)
        now = self._clock.now()
        status = self.appwrappers.status(key)
        if status.get("state") != PENDING:
            status = queued(status, now)
        self.appwrappers.remember(key, may_run(head_of_line(status, now)))
        self._watch(wrapper)
        self._later(max(self.costs.creation() for _ in wrapper.items or (None,)), self._create, wrapper)

    # -- what becomes of it ------------------------------------------------------------------------------------------

    def _rejoin(self, key: Key) -> None:
        del self._rejoining[key]
        wrapper = self._readable(key)
        if wrapper is not None:
            self._join(wrapper)
