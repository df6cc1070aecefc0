"""`ghostfleet fidelity`: how near the embedded cluster comes to what was measured on real ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ghostfleet.cli.completion import profiles
from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, chosen_access, interrupted, reporting
from ghostfleet.cli.output import FAILED, WRONG_USAGE, Form, fail, print_rows, print_structure

if TYPE_CHECKING:
    from ghostfleet.lab.fidelity import Comparison, Experiment, Line, RealComparison, RealPlane, Running
    from ghostfleet.lab.progress import Progress

__all__ = ["fidelity"]

#: In the page: what stands behind it is kept as it is.
_BY_HAND = "<!-- What follows is not made by that command. -->"
_SIZE = re.compile(r"([1-9]\d*)(?:x([1-9]\d*))?")
_PUBLISHED = ("mode", "jobs", "published_s", "ours_s", "error")
_LINES = ("test", "jobs", "nodes", "figure", "measure", "real_s", "ours_s", "error", "goal", "verdict")


def fidelity(
    mode: Annotated[str, typer.Option(help="Modes to compare; by default all that figures were published for.")] = "",
    iterations: Annotated[int, typer.Option(min=1, help="Trials for each published figure.")] = 5,
    fitted: Annotated[
        bool,
        typer.Option("--fitted", help="Show what fitted figures are worth: the error with each at another value."),
    ] = False,
    real: Annotated[
        bool, typer.Option("--real", help="Compare with a real control plane, which is started here for it.")
    ] = False,
    jobs: Annotated[
        str, typer.Option("-n", "--jobs", help="Numbers of Jobs to compare with it; 300x60 is 300 Jobs on 60 nodes.")
    ] = "100,1000",
    nodes: Annotated[int, typer.Option(min=1, help="Fake nodes of both clusters, where -n does not say.")] = 100,
    bin_dir: Annotated[
        Path | None, typer.Option(help="Where the programs are; else where `make kube` put them.")
    ] = None,
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output_dir: Annotated[Path, typer.Option(help="Where what was measured is kept, for --real.")] = Path("fidelity"),
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Measure on the real cluster only what the output dir does not have yet.")
    ] = False,
    docs: Annotated[
        Path | None, typer.Option(help="Write a page with both comparisons to this file.", dir_okay=False)
    ] = None,
    profile: Annotated[
        str, typer.Option(autocompletion=profiles, help="Profile of the embedded cluster, for --real.")
    ] = "kubernetes",
    seed: Annotated[int, typer.Option(help="Seed of all that is random.")] = 0,
    form: Annotated[Form, typer.Option("-o", "--output", help="How the comparison is printed.")] = Form.TABLE,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Compare the embedded cluster with real ones: with published stress tests, or with --real in a run of its own.

    The worst figures come first. Exit code 1 when a mode's mean error is over 5 % or any single one over 10 %; with
    --real when a total is wrong by more than 10 %, or a phase by more than 20 % and half a second; the median of a
    phase that is one request, by more than 20 % and 5 ms. A cluster that is named (--cluster, --kubeconfig)
    takes the place of the one that --real starts; its nodes must live by the stage set `stress`.
    """
    from ghostfleet.cli.bars import shown
    from ghostfleet.lab.fidelity import worst_first
    from ghostfleet.report.fidelity import fidelity_page

    if fitted:
        _print_fitted(mode, iterations, seed, form, quiet)
        return
    named = bool(cluster or kubeconfig or context)
    met = True
    compared: Sequence[Comparison] = ()
    with shown(quiet) as progress:
        if docs is not None or not (real or named):
            compared, met = _published(mode, iterations, seed, progress)
    if not (real or named or docs is not None):
        if not quiet:
            _print(form, published=compared)
        _end(met)
        return

    def side() -> RealPlane | Running:
        from ghostfleet.lab.fidelity import RealPlane, Running

        if named:
            return Running(chosen_access(cluster, kubeconfig, context))
        return RealPlane(str(bin_dir or ""))

    wanted = _experiments(jobs, nodes)
    kept = [f"Stopped. What was measured is in {output_dir}.", "The same command with --reuse goes on from there."]
    with interrupted(*kept), _ends_by_signals(), reporting(), shown(quiet) as progress:
        comparison = _comparison(output_dir, progress, reuse=reuse, profile=profile, seed=seed)
        try:
            comparison.run(wanted, side)
        finally:
            lines = worst_first(line for each in comparison.compared for line in each.lines)
            if not quiet:
                _print(form, published=compared, lines=lines)
        if docs is not None:
            command = f"ghostfleet fidelity --real -n {jobs} --nodes {nodes} --docs {docs}"
            rows = _fitted(mode, iterations, seed, progress)
            _write(docs, fidelity_page(compared, comparison.compared, rows, command))
    _end(met, lines)


def _print_fitted(mode: str, iterations: int, seed: int, form: Form, quiet: bool) -> None:
    from ghostfleet.cli.bars import shown

    with reporting(), shown(quiet) as progress:
        rows = _fitted(mode, iterations, seed, progress)
    print_rows(rows, form, list(rows[0]) if rows else [], f"No figure of {mode} is fitted.")


def _fitted(mode: str, iterations: int, seed: int, progress: Progress) -> list[dict[str, str]]:
    from ghostfleet.lab.fidelity import published_modes
    from ghostfleet.lab.fidelity.fitted import worths
    from ghostfleet.report.published import fitted_rows

    modes = mode.split(",") if mode else published_modes()
    return fitted_rows(list(worths(modes, progress, iterations=iterations, seed=seed)))


def _published(mode: str, iterations: int, seed: int, progress: Progress) -> tuple[list[Comparison], bool]:
    from ghostfleet.lab import fidelity as lab

    modes = mode.split(",") if mode else lab.published_modes()
    with reporting():
        compared = lab.compare(modes, progress, iterations=iterations, seed=seed)
    return compared, lab.holds(compared)


def _print(form: Form, *, published: Sequence[Comparison] = (), lines: Sequence[Line] = ()) -> None:
    """What was compared: two tables, or where both are there, two lists under their names."""
    from ghostfleet.lab.fidelity import mean_error, source
    from ghostfleet.report.fidelity import line_rows, published_rows, verdict

    if form is not Form.TABLE and published and lines:
        print_structure({"published": published_rows(published), "real": line_rows(lines)}, form)
        return
    if published:
        print_rows(published_rows(published), form, _PUBLISHED, "")
        if form is Form.TABLE:
            for name in dict.fromkeys(each.mode for each in published):
                typer.echo(f"{name}: mean error {mean_error(published, name):.1%}; figures: {source(name)}")
    if lines:
        print_rows(line_rows(lines), form, _LINES, "")
        if form is Form.TABLE:
            typer.echo(verdict(lines))


def _comparison(directory: Path, progress: Progress, *, reuse: bool, **others: Any) -> RealComparison:
    from ghostfleet.lab.fidelity import RealComparison, Records

    records = Records(directory)
    if reuse:
        records.read()
    return RealComparison(directory, records, progress, **others)


def _experiments(text: str, nodes: int) -> list[Experiment]:
    """Both tests for sizes such as `100,300x60`; where a part does not say, there are so many nodes."""
    from ghostfleet.lab.fidelity import Size, experiments

    found = [_SIZE.fullmatch(part) for part in text.split(",")]
    sizes = [Size(int(size[1]), int(size[2] or nodes)) for size in found if size is not None]
    if len(sizes) < len(found):
        fail(f"-n {text}: expected numbers of Jobs from 1, with nodes or without, as in 100,300x60", WRONG_USAGE)
    return experiments(sizes)


def _write(docs: Path, page: str) -> None:
    try:
        before = docs.read_text(encoding="utf-8") if docs.exists() else ""
        kept = "".join(before.partition(_BY_HAND)[1:])
        docs.write_text(f"{page}\n{kept}" if kept else page, encoding="utf-8")
    except OSError as error:
        fail(f"cannot write {docs}: {error.strerror}", WRONG_USAGE)


def _end(met: bool, lines: Sequence[Line] = ()) -> None:
    """The exit code, and what is not as it is to be."""
    from ghostfleet.lab import fidelity as lab

    if not met:
        fail(f"the mean error is to be at most {lab.MEAN_ERROR:.0%}, and each at most {lab.LARGEST_ERROR:.0%}", FAILED)
    missed = [line for line in lines if not line.met]
    if missed:
        fail(
            f"{len(missed)} of {len(lines)} figures are further off than {lab.TOTAL_ERROR:.0%} for totals, "
            f"{lab.PHASE_ERROR:.0%} or {lab.PHASE_SECONDS:g} s for phases, or {lab.REQUEST_SECONDS * 1000:g} ms for "
            "those of one request",
            FAILED,
        )


@contextmanager
def _ends_by_signals() -> Iterator[None]:
    """SIGTERM ends the command as Ctrl-C does, so that no real control plane is left behind."""
    import signal

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
