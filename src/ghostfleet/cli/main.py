"""The command line: `ghostfleet` and its alias `gf`.

One module a command; each only parses its options, calls the layers below and prints. Heavy imports happen inside the
commands, so that `--help` answers at once. Exit codes: 0 good, 1 the thing asked for failed, 2 wrong usage or input.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ghostfleet import __version__
from ghostfleet.cli import (
    agent,
    clean,
    clusterloader,
    config,
    decisions,
    devices,
    doctor,
    down,
    explain,
    fidelity,
    kubeconfig,
    list_,
    nodes,
    plot,
    profiles,
    queues,
    sample,
    scale_test,
    status,
    stress,
    submit,
    up,
)

__all__ = ["app", "main"]

app = typer.Typer(
    name="ghostfleet",
    help="A scale-test lab for GPU scheduling on Kubernetes that needs no GPUs and no cluster.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("up")(up.up)
app.command("down")(down.down)
app.command("status")(status.status)
app.command("list")(list_.list_clusters)
app.command("kubeconfig")(kubeconfig.kubeconfig)
app.command("scale-test")(scale_test.scale_test)
app.command("submit")(submit.submit)
app.command("sample")(sample.sample)
app.command("plot")(plot.plot)
app.command("clean")(clean.clean)
app.command("doctor")(doctor.doctor)
app.command("agent")(agent.agent)
app.command("stress")(stress.stress)
for _name in ("clusterloader", "cl2"):
    app.command(
        _name,
        hidden=_name == "cl2",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(clusterloader.clusterloader)
app.command("explain")(explain.explain)
app.command("queues")(queues.queues)
app.command("decisions")(decisions.decisions)
app.command("devices")(devices.devices)
app.command("fidelity")(fidelity.fidelity)
app.add_typer(nodes.app, name="nodes")
app.add_typer(config.app, name="config")
app.add_typer(profiles.app, name="profiles")


def _print_version(wanted: bool) -> None:
    if wanted:
        from ghostfleet.core.compilation import is_compiled

        typer.echo(f"ghostfleet {__version__}{' (compiled)' if is_compiled() else ''}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """A scale-test lab for GPU scheduling on Kubernetes that needs no GPUs and no cluster."""
    from ghostfleet.cli.defaults import apply_settings

    apply_settings(context)


def main() -> None:
    """Entry point of the console scripts."""
    app()
