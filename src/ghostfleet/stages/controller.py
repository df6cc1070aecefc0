"""The stage controller, as KWOK's: lets objects live by their stages, on store and clock.

For each kind with stages the controller listens to the store. Every change of an object is *noted*; soon after, the
controller *looks* at the object as it then is: a stage is chosen and waits as a *job*, in the place of any job that
waited for the object before. So each change starts the delay anew. A look that finds no stage leaves the older job
alone, which then acts on the object as it was; so does KWOK. When its time has come, a job is played, once. Jobs
without a delay are played in the look itself; their outcome is a change like any other, and looked at after all else
that is due. Where requests take time, that is added to the delay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from random import Random

from ghostfleet.api.kinds import from_storage, storage_key
from ghostfleet.api.verbs import Api
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND, Handle
from ghostfleet.core.errors import ApiError
from ghostfleet.core.latency import Client
from ghostfleet.core.ratelimit import Meter
from ghostfleet.core.store import Store
from ghostfleet.languages.budget import BUDGET, STEPS, BudgetExceeded
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.stages.contention import Contention
from ghostfleet.stages.lifecycle import Lifecycle, Transition
from ghostfleet.stages.playstage import StageJob, StageKind, StageRunner, Timers
from ghostfleet.stages.stage import Stage
from ghostfleet.stages.values import Warn

__all__ = ["KindRules", "StageController"]

#: group and version, and kind
Reference = tuple[str, str]
Key = tuple[str, str]

#: Looks in one turn, and steps of evaluation after which it ends; others get their turn in between.
_TURN = 512
_TURN_STEPS = STEPS
#: An object that is played this often within one moment is going round in circles.
_CIRCLES = 200
_RETRIED = frozenset((429, 503, 504))
_LONGEST_RETRY = 32 * 60 * SECOND


class KindRules:
    """What is special about a kind; this one says that nothing is."""

    def concerns(self, obj: Object) -> bool:  # noqa: ARG002 - others look at it
        """Whether an object is looked at at all."""
        return True

    def notices(self, change: Change) -> bool:
        """Told of every change at once; whether the object is to be looked at for it."""
        return change.new is not None

    def is_over(self, obj: Object) -> bool:  # noqa: ARG002 - others look at it
        """Whether nothing but a stage can happen to the object, so that it is not looked at if there is none."""
        return False

    def may_play(self, obj: Object) -> bool:  # noqa: ARG002 - others look at it
        """Whether a stage is to be chosen for the object now."""
        return True

    def may_act(self, obj: Object) -> bool:  # noqa: ARG002 - others look at it
        """Whether a stage that was chosen is to be played now."""
        return True

    def adjusted(self, obj: Object, transition: Transition | None, now: int) -> Transition | None:  # noqa: ARG002
        """What really comes next, after what the stages say."""
        return transition


class _Play:
    """One kind with its stages, and what waits to be done."""

    __slots__ = ("find", "jobs", "kind", "lifecycle", "noted", "rules", "stop")

    def __init__(self, kind: StageKind, lifecycle: Lifecycle, rules: KindRules, store: Store) -> None:
        self.kind = kind
        self.find = store.bucket(kind.key).find
        self.lifecycle = lifecycle
        self.rules = rules
        self.noted: dict[Key, None] = {}
        self.jobs: dict[Key, _PlayJob] = {}
        self.stop: Callable[[], None] = lambda: None


class _PlayJob(StageJob):
    """A job that knows where it belongs."""

    __slots__ = ("play", "worked")

    play: _Play
    #: the node's work that its stage needs is done
    worked: bool


class StageController:
    """Plays the stages of all kinds on the objects of one store."""

    def __init__(
        self,
        api: Api,
        runner: StageRunner,
        rng: Random,
        warn: Warn,
        *,
        reevaluate: bool = False,
        client: Client | None = None,
    ) -> None:
        self._api = api
        self._store = api.store
        self._clock = api.clock
        self._runner = runner
        self._rng = rng
        self._warn = warn
        self._reevaluate = reevaluate
        self._client = client
        self._rules: dict[Reference, KindRules] = {}
        self._stages: dict[Reference, list[Stage]] = {}
        self._plays: dict[Reference, _Play] = {}
        self._timers: Timers[_PlayJob] = Timers(api.clock, self._due)
        self._contention: Contention[_PlayJob] = Contention(api.clock, self._worked)
        self._handle: Handle | None = None
        self._ripe: dict[_Play, None] = {}
        #: a job is being played, after which what was noted meanwhile is seen to
        self._busy = False
        self._moment = -1
        self._turns = 0
        self._played: dict[tuple[str, str, str], int] = {}
        self._performed = 0
        meaning = "Stages that were played."
        family = api.clock.metrics.family("ghostfleet_stages_played_total", "counter", meaning)
        family.read_from(lambda: {(): self._performed})
        #: told of each kind that is played from now on
        self.on_begin: Callable[[StageKind], None] | None = None
        api.registry.on_change(self._kinds_changed)

    @property
    def contention(self) -> Meter:
        """How long pods had to share the work of their nodes."""
        return self._contention.meter

    @property
    def waiting(self) -> int:
        """How many jobs wait for their time."""
        return sum(len(play.jobs) for play in self._plays.values())

    @property
    def kinds(self) -> list[StageKind]:
        """All kinds that are played."""
        return [play.kind for play in self._plays.values()]

    @property
    def missing(self) -> list[Reference]:
        """Kinds that have stages, but are not known."""
        return [reference for reference in self._stages if reference not in self._plays]

    def set_rules(self, api_version: str, kind: str, rules: KindRules) -> None:
        self._rules[api_version, kind] = rules

    # -- stages --------------------------------------------------------------------------------------------------------

    def set_stages(self, stages: Iterable[Stage]) -> None:
        """Play these stages from now on."""
        grouped: dict[Reference, list[Stage]] = {}
        for stage in stages:
            grouped.setdefault((stage.api_version, stage.kind), []).append(stage)
        before, self._stages = self._stages, grouped
        for reference in before:
            if reference not in grouped:
                self._drop(reference)
        for reference, members in grouped.items():
            play = self._plays.get(reference)
            if play is None:
                self._begin(reference)
            elif before.get(reference) != members:
                play.lifecycle = Lifecycle(members)
                if self._reevaluate:
                    self._note_all(play)

    def _begin(self, reference: Reference) -> None:
        """Start to play a kind, if it is there; if not, it may come."""
        found = self._api.registry.of_kind(*reference)
        if found is None:
            return
        resource, version = found
        kind = StageKind.of(resource, version, storage_key(resource))
        play = _Play(kind, Lifecycle(self._stages[reference]), self._rules.get(reference) or KindRules(), self._store)
        self._plays[reference] = play
        play.stop = self._store.listen(kind.key, self._listener(play))
        self._note_all(play)
        if self.on_begin is not None:
            self.on_begin(kind)

    def _drop(self, reference: Reference) -> None:
        play = self._plays.pop(reference, None)
        if play is not None:
            play.stop()
            for job in play.jobs.values():
                job.cancelled = True

    def _kinds_changed(self) -> None:
        if any(reference not in self._plays for reference in self._stages):
            self._clock.call_soon(self._begin_late)

    def _begin_late(self) -> None:
        for reference in self._stages:
            if reference not in self._plays:
                self._begin(reference)

    # -- noting --------------------------------------------------------------------------------------------------------

    def note(self, api_version: str, kind: str, namespace: str, name: str) -> None:
        """Look at an object again, though it did not change."""
        play = self._plays.get((api_version, kind))
        if play is not None:
            job = play.jobs.pop((namespace, name), None)
            if job is not None:
                job.cancelled = True
            play.noted[namespace, name] = None
            self._wake(play)

    def _note_all(self, play: _Play) -> None:
        for obj in self._store.bucket(play.kind.key).walk():
            if play.rules.concerns(obj):
                metadata = obj["metadata"]
                play.noted[metadata.get("namespace", ""), metadata["name"]] = None
        if play.noted:
            self._wake(play)

    def _listener(self, play: _Play) -> Callable[[Change], None]:
        notices, is_over, noted, jobs = play.rules.notices, play.rules.is_over, play.noted, play.jobs

        def listener(change: Change) -> None:
            if notices(change):
                if change.new is not None and is_over(change.new) and not play.lifecycle.may_select(change.new):
                    return
                noted[change.namespace, change.name] = None
                self._ripe[play] = None
                if self._handle is None and not self._busy:
                    self._handle = self._clock.call_soon(self._turn)
            elif change.new is None:
                key = (change.namespace, change.name)
                noted.pop(key, None)
                job = jobs.pop(key, None)
                if job is not None:
                    job.cancelled = True

        return listener

    def _wake(self, play: _Play) -> None:
        self._ripe[play] = None
        if self._handle is None:
            self._handle = self._clock.call_soon(self._turn)

    # -- looking -------------------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        """Look at what was noted. What is noted meanwhile waits for the next turn."""
        self._handle = None
        now = self._clock.now()
        if now != self._moment:
            self._moment, self._turns = now, 0
            self._played.clear()
        self._turns += 1
        left = _TURN
        most = BUDGET.steps + _TURN_STEPS
        ripe, self._ripe = self._ripe, {}
        try:
            for play in ripe:
                noted = play.noted
                find = play.find
                for key in tuple(noted) if len(noted) <= left else tuple(islice(noted, left)):
                    left -= 1
                    # One object's turn may be another's end.
                    if key in noted:
                        del noted[key]
                        obj = find(*key)
                        if obj is not None:
                            self._look(play, key, obj, now)
                            if BUDGET.steps > most:
                                left = 0
                                break
                if noted:
                    self._wake(play)
        except Exception:
            # An object that nobody was prepared for must not take along those behind it.
            for play in ripe:
                if play.noted:
                    self._wake(play)
            raise

    def _look(self, play: _Play, key: Key, obj: Object, now: int, *, ahead: bool = False) -> bool:
        """Choose what comes next for an object; false if it is due now and only looked at ahead."""
        waiting = play.jobs.get(key)
        if waiting is not None and waiting.snapshot is obj:
            return True
        # Whoever acted just now may go on.
        if not ahead and not play.rules.may_play(obj):
            return True
        kind = play.kind
        shown = obj if kind.stored else from_storage(kind.resource, kind.version, obj)
        try:
            transition = play.rules.adjusted(shown, play.lifecycle.next(shown, now, self._rng), now)
        except EvaluationError as error:
            self._warn(f"{kind.key} {'/'.join(filter(None, key))}: no stage can be chosen: {error}")
            if isinstance(error, BudgetExceeded):
                self._runner.tell_failure(shown, str(error))
            return True
        if transition is None:
            return True
        delay = transition.delay
        if self._client is not None:
            delay = max(0, delay) + self._client.latency("patch", f"{kind.key}/status")
        if delay <= 0 and ahead:
            return False
        if waiting is not None:
            waiting.cancelled = True
            del play.jobs[key]
        job = _PlayJob(kind, *key, shown, transition.stage)
        job.play = play
        job.worked = transition.stage.work is None
        if delay <= 0 and job.worked:
            if self._turns < _CIRCLES or not self._circles(job):
                job.live = shown is obj
                self._play(job)
                return True
            delay = SECOND
        play.jobs[key] = job
        self._timers.add(now + max(0, delay), job)
        return True

    def _circles(self, job: StageJob) -> bool:
        """Whether an object was played so often at this moment that time would never go on."""
        key = (job.kind.key, job.namespace, job.name)
        played = self._played[key] = self._played.get(key, 0) + 1
        if played == _CIRCLES:
            self._warn(
                f"stage {job.stage.name!r}: {job.kind.key} {job.namespace}/{job.name} goes round in circles without "
                "any delay; it goes on one round a second"
            )
        return played >= _CIRCLES

    # -- playing -----------------------------------------------------------------------------------------------------

    def _worked(self, job: _PlayJob) -> None:
        job.worked = True
        self._due(job)

    def _due(self, job: _PlayJob) -> None:
        work = job.stage.work
        if work is not None and not job.worked:
            self._contention.add((job.snapshot.get("spec") or {}).get("nodeName", ""), work, job)
            return
        play, key = job.play, (job.namespace, job.name)
        if play.jobs.get(key) is job:
            del play.jobs[key]
        obj = play.find(*key)
        if obj is None or not play.rules.may_act(obj):
            return
        job.live = obj is job.snapshot
        self._busy = True
        try:
            self._play(job)
            self._look_ahead(play, key, job.result)
        finally:
            self._busy = False
            if self._ripe and self._handle is None:
                self._handle = self._clock.call_soon(self._turn)

    def _look_ahead(self, play: _Play, key: Key, result: Object | None) -> None:
        """Look at an object that was just played on, rather than in the next turn, unless it goes on at once.

        Between two stages without a delay others must have their turn, or they would never see what was between.
        """
        if key in play.noted:
            obj = result or play.find(*key)
            if obj is not None and self._look(play, key, obj, self._clock.now(), ahead=True):
                del play.noted[key]
                if not play.noted:
                    self._ripe.pop(play, None)

    def _play(self, job: _PlayJob) -> None:
        self._performed += 1
        try:
            self._runner.play(job)
        except ApiError as error:
            if error.code in _RETRIED:
                self._retry(job)
            else:
                self._complain(job, error.message)
        except EvaluationError as error:
            self._complain(job, str(error))
            if isinstance(error, BudgetExceeded):
                self._runner.tell_failure(job.snapshot, f"stage {job.stage.name!r}: {error}")

    def _complain(self, job: StageJob, why: str) -> None:
        place = "/".join(filter(None, (job.namespace, job.name)))
        self._warn(f"stage {job.stage.name!r} failed on {job.kind.key} {place}: {why}")

    def _retry(self, job: _PlayJob) -> None:
        """Go on with the step that failed, later each time."""
        play = job.play
        delay = min(SECOND << min(job.retries, 30), _LONGEST_RETRY)
        job.retries += 1
        older = play.jobs.get((job.namespace, job.name))
        if older is not None:
            older.cancelled = True
        play.jobs[job.namespace, job.name] = job
        self._timers.add(self._clock.now() + delay + int(delay * 0.2 * self._rng.random()), job)
