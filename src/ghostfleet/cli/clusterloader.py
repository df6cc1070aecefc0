"""`ghostfleet clusterloader`, or `cl2`: run tests of ClusterLoader2 by their own config files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ghostfleet.cli.bars import shown
from ghostfleet.cli.connecting import INTERRUPTED, ClusterName, connected_or, reporting
from ghostfleet.cli.groups import flag_group, taking
from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail
from ghostfleet.cluster.config import ClusterConfig

if TYPE_CHECKING:
    from ghostfleet.clusterloader.compiling import CompiledTest
    from ghostfleet.clusterloader.config import TestScenario
    from ghostfleet.clusterloader.suite import Options, Ran
    from ghostfleet.drive.interface import Cluster

__all__ = ["clusterloader"]

#: Those of ClusterLoader2, and kwok; what a provider is good for there is not needed here.
_PROVIDERS = (
    "aks",
    "autopilot",
    "aws",
    "eks",
    "gce",
    "gke",
    "gkekubemark",
    "kcp",
    "kind",
    "ks",
    "kubemark",
    "kwok",
    "local",
    "skeleton",
    "vsphere",
)
#: Flags of ClusterLoader2 that have nothing to do here: taken, and left alone.
_IDLE = (
    "alsologtostderr",
    "delete-automanaged-namespaces",
    "delete-stale-namespaces",
    "enable-exec-service",
    "enable-prometheus-server",
    "k8s-clients-number",
    "kubelet-port",
    "log_file",
    "logtostderr",
    "master-internal-ip",
    "masterip",
    "mastername",
    "node-preload-images",
    "port",
    "run-from-cluster",
    "skip-cluster-verification",
    "stderrthreshold",
    "tear-down-prometheus-server",
)
_NODES = 10
#: Makes a virtual cluster of so many nodes from a seed.
Virtual = Callable[[int, int], "Cluster"]


def _virtual(**options: Any) -> Virtual:
    config = ClusterConfig(**options, replaces_default=True)

    def made(nodes: int, seed: int) -> Cluster:
        from ghostfleet.cluster import Cluster as Assembled
        from ghostfleet.cluster import add_nodes
        from ghostfleet.core.collector import relax_collector
        from ghostfleet.drive.embedded import Embedded
        from ghostfleet.stages.nodes import NodeShape

        try:
            assembled = Assembled(config=config, seed=seed)
        except (ValueError, OSError) as error:
            fail(str(error), WRONG_USAGE)
        # Not called as those of the dependency kwok-dra, which counts its nodes by this label.
        add_nodes(assembled, NodeShape(count=nodes, prefix="node-", labels={"type": "virtual"}, fake_taint=False))
        relax_collector()
        return Embedded(assembled)

    return made


_virtual_cluster = flag_group(
    ClusterConfig,
    _virtual,
    "profile",
    "stages",
    "schedulers",
    "scheduler_config",
    profile="kubernetes",
    stages=("clusterloader",),
)


@taking(virtual=_virtual_cluster)
def clusterloader(
    *,
    context: typer.Context,
    testconfig: Annotated[list[Path] | None, typer.Option(help="A test config; several times too.")] = None,
    testsuite: Annotated[Path | None, typer.Option(help="A test suite, instead of test configs.")] = None,
    testoverrides: Annotated[
        list[Path] | None, typer.Option(help="A file of values for templates; several times too, the last counts most.")
    ] = None,
    report_dir: Annotated[
        Path | None, typer.Option(help="Where the reports go; without it only junit.xml is written, here.")
    ] = None,
    nodes: Annotated[
        int,
        typer.Option(
            min=0,
            envvar="NUM_NODES",
            help="What `.Nodes` is in templates, and how many nodes a fresh cluster has. "
            f"[default: as many as there are, {_NODES} in a fresh cluster]",
            show_default=False,
        ),
    ] = 0,
    provider: Annotated[
        str, typer.Option(envvar="PROVIDER", help=f"What kind of cluster it is: {', '.join(_PROVIDERS)}.")
    ] = "skeleton",
    dry_run: Annotated[bool, typer.Option(help="Only read the tests and print what they come to; exits 1.")] = False,
    skip_steps: Annotated[
        list[str] | None, typer.Option(help="A step to leave out, by name; several times too.")
    ] = None,
    overwrite_test_config: Annotated[
        list[str] | None, typer.Option(metavar="Path.To.Field=VALUE", help="Change a field of the config.")
    ] = None,
    registry_k8s_repo: Annotated[
        str, typer.Option(envvar="REGISTRY_K8S_REPO", help="What `.ImageRegistry` is in templates.")
    ] = "registry.k8s.io",
    strict: Annotated[bool, typer.Option(help="Unknown keys in configs are errors.")] = False,
    allow_exec: Annotated[bool, typer.Option(help="The measurement Exec may run commands on this machine.")] = False,
    compat: Annotated[bool, typer.Option(help="junit.xml as ClusterLoader2 writes it, tests=0 included.")] = False,
    verbosity: Annotated[
        int,
        typer.Option("--v", envvar=["CL2_VERBOSITY", "KLOG_V"], help="How much is said while it runs, from 0 to 2."),
    ] = 0,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 0,
    virtual: Virtual,
    cluster: ClusterName = "",
    kubeconfig: Annotated[Path | None, typer.Option(help="Any other cluster, by kubeconfig.")] = None,
    kube_context: Annotated[str, typer.Option("--context", help="Context in that kubeconfig.")] = "",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Run tests of ClusterLoader2, on a fresh cluster in virtual time, or on the one that is named."""
    from ghostfleet.clusterloader.suite import Options

    _check_arguments(context.args, provider)
    scenarios, root = _scenarios(testconfig or [], testsuite)
    named = bool(cluster or kubeconfig or kube_context)
    with ExitStack() as stack:
        stack.enter_context(reporting())
        found = None
        if named or not dry_run:
            fresh = nodes or _NODES
            found = stack.enter_context(
                connected_or(lambda: virtual(fresh, seed), cluster, kubeconfig, kube_context, 64)
            )
            nodes = nodes or _count_nodes(found)
        options = Options(
            overrides=testoverrides or (),
            nodes=nodes or _NODES,
            registry=registry_k8s_repo,
            environment=os.environ,
            overwrites=overwrite_test_config or (),
            skip_steps=skip_steps or (),
            strict=strict,
            allow_exec=allow_exec,
            seed=seed,
        )
        tests = _compiled(scenarios, root, options)
        if dry_run or found is None:
            _print_configs(tests)
            raise typer.Exit(FAILED)
        ran = _run(found, list(zip(tests, scenarios, strict=True)), options, report_dir, compat, verbosity, quiet)
    if any(each.interrupted for each in ran):
        typer.echo("Interrupted; what the test had made is removed.", err=True)
        raise typer.Exit(INTERRUPTED)
    if any(each.result.all_errors() for each in ran):
        raise typer.Exit(FAILED)


def _check_arguments(more: Sequence[str], provider: str) -> None:
    """Only flags that have nothing to do here may be left over."""
    if provider not in _PROVIDERS:
        fail(f"--provider {provider!r}: expected one of {', '.join(_PROVIDERS)}", WRONG_USAGE)
    before = ""
    for each in more:
        name = each.lstrip("-").partition("=")[0]
        known = each.startswith("-") and (name in _IDLE or name.startswith("prometheus-"))
        if not known and not (before and "=" not in before and not each.startswith("-")):
            fail(f"{each}: no such option; `ghostfleet clusterloader --help` lists all", WRONG_USAGE)
        before = each if known else ""


def _scenarios(configs: list[Path], suite: Path | None) -> tuple[list[TestScenario], Path]:
    from ghostfleet.clusterloader.config import TestScenario
    from ghostfleet.clusterloader.suite import read_suite

    if bool(configs) == (suite is not None):
        fail("expected either --testconfig or --testsuite", WRONG_USAGE)
    with reporting():
        if suite is not None:
            return read_suite(suite), suite.parent
    return [TestScenario(config_path=str(path)) for path in configs], Path()


def _count_nodes(cluster: Cluster) -> int:
    from ghostfleet.clusterloader.suite import schedulable_nodes

    count = cluster.run(schedulable_nodes(cluster))
    if not count:
        fail("the cluster has no schedulable node; a test needs at least one", FAILED)
    return count


def _compiled(scenarios: Sequence[TestScenario], root: Path, options: Options) -> list[CompiledTest]:
    from ghostfleet.clusterloader.problems import ConfigError
    from ghostfleet.clusterloader.suite import compile_suite

    try:
        tests = compile_suite(scenarios, root, options)
    except ConfigError as error:
        _warn(error.warnings)
        *lines, last = str(error).split("\n")
        for line in lines:
            typer.echo(f"ghostfleet: {line}", err=True)
        fail(last, WRONG_USAGE)
    _warn([line for test in tests for line in test.warnings])
    return tests


def _warn(lines: Sequence[str]) -> None:
    for line in dict.fromkeys(lines):
        typer.echo(f"warning: {line}", err=True)


def _print_configs(tests: Sequence[CompiledTest]) -> None:
    from ghostfleet.clusterloader.compiling import generated_config
    from ghostfleet.core.manifests import dump

    for test in tests:
        typer.echo(f"# {test.path}")
        typer.echo(dump(generated_config(test.config)), nl=False)


def _run(
    cluster: Cluster,
    tests: Sequence[tuple[CompiledTest, TestScenario]],
    options: Options,
    report_dir: Path | None,
    compat: bool,
    verbosity: int,
    quiet: bool,
) -> list[Ran]:
    from ghostfleet.clusterloader.junit import junit
    from ghostfleet.clusterloader.log import Log
    from ghostfleet.clusterloader.reportdir import ReportDirectory
    from ghostfleet.clusterloader.suite import run_test
    from ghostfleet.report.clusterloader import test_lines, test_page

    directory = ReportDirectory(report_dir or Path())
    directory.make()
    ran: list[Ran] = []
    with shown(quiet) as progress:
        for test, scenario in tests:
            ran.append(run_test(cluster, test, scenario.identifier, options, Log(progress, verbosity)))
            if report_dir is not None:
                directory.write_test(test, ran[-1].result)
            if ran[-1].interrupted:
                break
    results = [each.result for each in ran]
    directory.write("junit.xml", junit(results, compatible=compat))
    if report_dir is not None:
        directory.write_metadata(cluster.info, options.nodes)
        for each in ran:
            directory.write_page(each.result, len(ran) > 1, test_page(each, cluster.info))
    if not quiet:
        for each in ran:
            typer.echo("\n".join(test_lines(each, cluster.info)))
        if report_dir is not None:
            typer.echo(
                f"Report    {report_dir}: junit.xml, report.html and {sum(len(r.summaries) for r in results)} summaries"
            )
    sys.stdout.flush()
    return ran
