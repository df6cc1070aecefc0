"""Submitting: many workloads, at the pace that was asked for.

Without a rate, workloads go in *iterations*: so many at once, wait for all of them, write down what happened, let the
delay pass. With a rate, or where a mix says when workloads arrive, each goes at its own time, and the number of
processes bounds how many are under way. Either way exactly as many are submitted as were asked for. Each submission is
in the journal before the next iteration begins, and names follow from the run, so a run that was killed can be
*resumed*: what it still owes is submitted, and what the cluster turns out to have already, under the run's label,
counts as done.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, real_seconds
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339_micro
from ghostfleet.drive.interface import NAMESPACES, Cluster, ConnectionFailed, Kind, Refused
from ghostfleet.lab.deviceclaims import CLAIM, CLAIM_TEMPLATE, default_class
from ghostfleet.lab.directory import Journal, RunDirectory
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.mix import Workload
from ghostfleet.lab.plan import ATTEMPTS, RUN_LABEL, Plan, namer, project_of, run_id
from ghostfleet.lab.progress import Progress, Silent
from ghostfleet.lab.records import Drawn, Run, Submission
from ghostfleet.lab.survey import survey
from ghostfleet.lab.types import KindName

__all__ = ["Submitter", "prepare", "resume"]

_CONFLICT = 409
_NOT_FOUND = 404


class Submitter:
    """Submits the workloads of one run."""

    def __init__(
        self,
        cluster: Cluster,
        directory: RunDirectory,
        run: Run,
        progress: Progress | None = None,
        *,
        create_project: bool = False,
    ) -> None:
        self.run = run
        self._cluster = cluster
        self._directory = directory
        self._progress = progress or Silent()
        self._name = namer(run.run, run.count)
        #: All workloads of the run, by their numbers.
        self.workloads = run.workloads()
        self._renderers = run.renderers(run.run)
        self._kinds: dict[str, Kind] = {}
        self._submissions = [each for each in directory.submissions() if not each.error]
        self._fresh = not self._submissions
        self._written = 0
        self._may_create = create_project or cluster.info.ghostfleet
        #: Workloads that the cluster has refused.
        self.failed = 0

    @property
    def submitted(self) -> int:
        """Workloads that the cluster has taken."""
        return len(self._submissions) - self.failed

    async def submit(self) -> None:
        """Submit all that the run owes, and write it down."""
        began = real_seconds()
        await self._make_ready()
        self._directory.claim()
        self._directory.write_run(self.run)
        journal = self._directory.journal()
        try:
            self._progress.begin("submitting", self.run.count)
            self._progress.advance(self.submitted)
            owed, times = self._owed(), self.run.times(self.workloads)
            if times is None:
                await self._in_iterations(owed, journal)
            else:
                await self._at_times(owed, times, journal)
            self.run.state = "submitted"
        finally:
            self._save(began)
            if self.run.state == "submitted":
                journal.remove()
            journal.close()

    # -- what is owed ------------------------------------------------------------------------------------------------

    def _owed(self) -> list[int]:
        done = {each.name for each in self._submissions}
        count = self.run.count
        if not done:
            return list(range(count))
        return [
            number
            for number in range(count)
            if not any(self._name(number, attempt) in done for attempt in range(ATTEMPTS))
        ]

    async def _make_ready(self) -> None:
        for name, kind in self.run.kinds().items():
            found = await self._cluster.resolve(*kind.workload)
            if found is None:
                raise LabError(
                    f"the cluster does not serve {kind.workload.kind} ({kind.workload.api_version}), which type "
                    f"{kind.name} needs; `ghostfleet doctor -t {kind.name}` says what is missing"
                )
            self._kinds[name] = found
        for namespace in sorted({each.namespace for each in self.workloads}):
            await self._make_namespace(namespace)
        claiming = [each for each in self.workloads if each.of.kind.claims_devices]
        if claiming:
            await self._make_claims_ready({(each.namespace, each.gpus) for each in claiming})

    async def _make_namespace(self, namespace: str) -> None:
        cluster, project = self._cluster, project_of(namespace)
        try:
            await cluster.get(NAMESPACES, "", namespace)
            return
        except Refused as refusal:
            if refusal.code != _NOT_FOUND:
                raise
        missing = f"project {project} does not exist: the cluster has no namespace {namespace}"
        if not self._may_create:
            raise LabError(f"{missing}; name another --project, or have it made with --create-project")
        labels = {RUN_LABEL: self.run.run, "runai/queue": project}
        try:
            await cluster.create(NAMESPACES, {"metadata": {"name": namespace, "labels": labels}})
        except Refused as refusal:
            raise LabError(f"{missing}, and it cannot be created: {refusal}") from refusal

    # -- claims of devices -------------------------------------------------------------------------------------------

    async def _make_claims_ready(self, needed: set[tuple[str, int]]) -> None:
        """Settle what claims ask for, and make the templates for so many devices in these namespaces."""
        run, cluster = self.run, self._cluster
        run.deviceClass = run.deviceClass or await default_class(cluster)
        if run.claims.shared:
            return
        for namespace, devices in sorted(needed):
            name = run.claims.template_name(run.run, devices)
            made = run.claims.template(namespace, {RUN_LABEL: run.run}, name, devices)
            try:
                await self._create_once(CLAIM_TEMPLATE, made)
            except Refused as refusal:
                raise LabError(f"the cluster refused the claim template {name}: {refusal}") from refusal

    async def _create_once(self, kind: KindName, obj: Object) -> None:
        """Create an object of the run, unless it is there from before."""
        found = await self._cluster.resolve(*kind)
        if found is None:
            raise LabError(f"the cluster does not serve {kind.kind} ({kind.api_version}), which claims of devices need")
        try:
            await self._cluster.create(found, obj)
        except Refused as refusal:
            if refusal.code != _CONFLICT:
                raise

    # -- at what pace ------------------------------------------------------------------------------------------------

    async def _in_iterations(self, owed: list[int], journal: Journal) -> None:
        cluster, size, delay = self._cluster, self.run.processes, int(self.run.delay * SECOND)
        for start in range(0, len(owed), size):
            if start and delay:
                await cluster.sleep(delay)
            numbers = owed[start : start + size]
            self._note(await cluster.together([self._submit(number) for number in numbers]), journal)

    async def _at_times(self, owed: list[int], times: Iterator[int], journal: Journal) -> None:
        # A run that is resumed goes on at its pace with what is left.
        due = iter(zip(owed, times, strict=False))
        began = self._cluster.now()
        lanes = [self._lane(due, began, journal) for _ in range(min(self.run.processes, len(owed)))]
        await self._cluster.together(lanes)

    async def _lane(self, due: Iterator[tuple[int, int]], began: int, journal: Journal) -> None:
        for number, time in due:
            wait = began + time - self._cluster.now()
            if wait > 0:
                await self._cluster.sleep(wait)
            self._note([await self._submit(number)], journal)

    # -- one workload ------------------------------------------------------------------------------------------------

    async def _submit(self, number: int) -> Submission | ConnectionFailed:
        """Submit one workload; that the cluster is gone is answered, so that others which went well are noted."""
        try:
            return await self._sent(number)
        except ConnectionFailed as error:
            return error

    async def _sent(self, number: int) -> Submission:
        cluster, workload = self._cluster, self.workloads[number]
        kind, render = self._kinds[workload.of.name], self._renderers[workload.of.name]
        namespace, drawn = workload.namespace, _drawn(workload) if workload.of.name else None
        claims = self.run.claims
        shares = claims.shared and workload.of.kind.claims_devices
        time, name, error = 0, "", ""

        def submission(time: int, error: str = "") -> Submission:
            return Submission(name, project_of(namespace), namespace, time, error, drawn)

        for attempt in range(ATTEMPTS):
            name = self._name(number, attempt)
            time = cluster.now()
            try:
                if shares:
                    claim = claims.claim(namespace, {RUN_LABEL: self.run.run}, name, workload.gpus)
                    await self._create_once(CLAIM, claim)
                await cluster.create(kind, render(workload, name, number))
                return submission(time)
            except Refused as refusal:
                error = f"{refusal}".replace("\n", " ")
                if refusal.code != _CONFLICT:
                    break
                there = await self._there(kind, namespace, name)
                if there is not None and _is_of(there, self.run.run):
                    return submission(parse_rfc3339(there["metadata"]["creationTimestamp"]))
        return submission(time, error)

    async def _there(self, kind: Kind, namespace: str, name: str) -> Object | None:
        try:
            return await self._cluster.get(kind, namespace, name)
        except Refused as refusal:
            if refusal.code != _NOT_FOUND:
                raise
            return None

    # -- writing down ------------------------------------------------------------------------------------------------

    def _note(self, answers: list[Submission | ConnectionFailed], journal: Journal) -> None:
        done = [each for each in answers if isinstance(each, Submission)]
        journal.add(done)
        hopeless = self._fresh and not self._submissions and done and all(each.error for each in done)
        self._submissions += done
        self.failed += sum(1 for each in done if each.error)
        self._progress.advance(len(self._submissions), f"{self.failed} failed" if self.failed else "")
        for answer in answers:
            if isinstance(answer, ConnectionFailed):
                raise answer
        if hopeless:
            raise LabError(f"the cluster refused the first workloads: {done[0].error}")
        # The whole list again each time would be quadratic; whoever reads it reads the journal too.
        total = len(self._submissions)
        if total - self._written > self._written // 2:
            self._directory.write_submissions(self._submissions)
            self._written = total

    def _save(self, began: float) -> None:
        if self._fresh and self.failed == len(self._submissions) and self.run.state != "submitted":
            # Nothing was submitted: there is nothing to go on with, and the directory is as it was.
            self._directory.clear()
            return
        self._directory.write_submissions(sorted(self._submissions, key=lambda each: each.time))
        self.run.labSeconds += round(real_seconds() - began, 6)
        self._directory.write_run(self.run)


def _drawn(workload: Workload) -> Drawn:
    return Drawn(workload.of.name, workload.gpus, workload.workers, workload.duration, workload.queue)


def _is_of(obj: Object, run: str) -> bool:
    return bool((obj["metadata"].get("labels") or {}).get(RUN_LABEL) == run)


async def prepare(cluster: Cluster, directory: RunDirectory, plan: Plan, *, force: bool = False) -> Run:
    """The record of a run that is to begin in a directory, which must not hold another."""
    plan.check()
    directory.make()
    if force:
        directory.clear()
    earlier = directory.run()
    if earlier is not None or directory.submissions():
        what = f"holds run {earlier.run} ({earlier.state})" if earlier is not None else "holds an earlier submission"
        go_on = (
            ", go on with `ghostfleet submit --resume`" if earlier is not None and earlier.state != "submitted" else ""
        )
        raise LabError(f"{directory.path} {what}: choose another --output-dir{go_on} or replace it with --force")
    directory.check_own()
    now = cluster.now()
    facts = (await survey(cluster)).written(cluster)
    return Run.begun(plan, run_id(now, plan), rfc3339_micro(now), facts)


def resume(directory: RunDirectory) -> Run:
    """The run in a directory, to go on with."""
    directory.require()
    run = directory.run()
    if run is None:
        raise LabError(f"{directory.path} holds no run to go on with; leave out --resume to begin one")
    run.load()
    return run
