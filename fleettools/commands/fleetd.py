"""fleetd: the pipe of all stages, kept up; and what surrounds it: set up, checked or shown."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import click

from fleettools.cli import Context, command, complete, state, tmux_server
from fleettools.commands.setup import Wishes
from fleettools.errors import Exit

WHAT = ("run", "init", "check", "sample", "demo")
# Which options go with what; the common ones go with all.
RUN = ("everything", "once", "stdin", "only_print")
INIT = ("yes", "dry_run", "mark", "lead", "alerts", "service")
TMUX = ("socket_path", "socket_name")
GOES: Mapping[str, tuple[str, ...]] = {
    "run": (*RUN, "state_url", *TMUX),
    "init": (*INIT, *TMUX),
    "check": ("try_alerts", "state_url", *TMUX),
    "sample": ("name",),
    "demo": (),
}


@command("fleetd")
@click.argument("what", type=click.Choice(WHAT), default="run", metavar=f"[{'|'.join(WHAT)}]")
@click.argument("name", required=False, metavar="[SAMPLE]", shell_complete=complete("samples"))
@click.option("--all", "everything", is_flag=True, help="With run: write every record, not only what is news.")
@click.option("--once", is_flag=True, help="With run: look once, deliver, and end; for cron.")
@click.option("--stdin", is_flag=True, help="With run: the records come from a pipe of yours, as --print shows it.")
@click.option("--print", "only_print", is_flag=True, help="With run: print the shell line that does the same, and end.")
@click.option("--yes", is_flag=True, help="With init: write the configuration without a question.")
@click.option("--dry-run", is_flag=True, help="With init: show what it would write, and change nothing.")
@click.option("--mark", is_flag=True, help="With init: set the options of the panes, and name their profiles.")
@click.option("--lead", metavar="PANE", help="With init --mark: the pane that leads the others.")
@click.option("--alert", "alerts", multiple=True, metavar="HOW",
              help="With init: a way to tell people, an address, or exec:COMMAND; may be repeated.")  # fmt: skip
@click.option("--alerts", "try_alerts", is_flag=True, help="With check: send each alert a test.")
@click.option("--service", is_flag=True, help="With init: install systemd's user unit, or print the line for cron.")
@state
@tmux_server
def main(ctx: Context, what: str, **options: Any) -> Exit | int | None:
    """Watch a fleet: run scrape, classify, resolve, correlate and notify as one pipe, and keep it up.

    \b
    run     (the default) until TERM or ^C, or with --once for one look
    init    look around, show the agents that run, write a configuration
    check   look over configuration and surroundings, each fault with its mend
    sample  print a configuration, unit, crontab or script; without a name, all
    demo    show an outage and what becomes of it, on a tmux of its own
    """
    _fit(what, options)
    does: dict[str, Callable[[Context, dict[str, Any]], Exit | int | None]] = {
        "run": _run, "init": _init, "check": _check, "sample": _sample, "demo": _demo
    }  # fmt: skip
    return does[what](ctx, options)


def _fit(what: str, options: Mapping[str, Any]) -> None:
    """Refuse what does not go together."""
    params = {param.name: param for param in main.params}
    for name, value in options.items():
        if value and name not in GOES[what]:
            if what == "demo" and name in ("state_url", *TMUX):
                raise click.UsageError("demo has a store and a tmux server of its own; leave --state, -S and -L out")
            if name == "name":
                raise click.UsageError(f"Got unexpected extra argument ({value})")
            owners = " and ".join(each for each in WHAT if name in GOES[each])
            raise click.UsageError(f"{params[name].opts[0]} goes with {owners}, not with {what}")
    if options["stdin"] and (options["once"] or options["only_print"]):
        raise click.UsageError("--stdin goes neither with --once nor with --print")


def _run(ctx: Context, options: dict[str, Any]) -> Exit | int | None:
    from fleettools.daemon.setting import Asked, Setting

    sockets = options["socket_path"], options["socket_name"]
    setting = Setting(ctx, Asked(options["everything"], options["once"], options["state_url"], sockets))
    if options["only_print"]:
        ctx.out.write(setting.shell_line().encode() + b"\n")
        ctx.out.flush()
        return None
    if options["once"]:
        from fleettools.daemon.once import once as look

        return look(setting)
    from fleettools.daemon import run

    return run.from_stdin(setting) if options["stdin"] else run.run(setting)


def _init(ctx: Context, options: dict[str, Any]) -> Exit:
    from fleettools.adapters.tmux import Tmux
    from fleettools.commands.setup.init import init

    tmux = Tmux(options["socket_path"], options["socket_name"])
    named = options["socket_path"] or options["socket_name"] or os.environ.get("FLEET_TMUX_SOCKET")
    wishes = Wishes(*(options[name] for name in INIT))._replace(server=("-S", tmux.socket) if named else ())
    return init(ctx, wishes, tmux)


def _check(ctx: Context, options: dict[str, Any]) -> Exit:
    from fleettools.adapters.tmux import Tmux
    from fleettools.commands.setup.check import check

    tmux = Tmux(options["socket_path"], options["socket_name"])
    return check(ctx, options["state_url"], tmux, options["try_alerts"])


def _sample(ctx: Context, options: dict[str, Any]) -> Exit:
    from fleettools.commands.setup.sample import sample

    return sample(ctx, options["name"])


def _demo(ctx: Context, _options: dict[str, Any]) -> Exit:
    from fleettools.demo.show import show

    return show(ctx.out, ctx.messages)


if __name__ == "__main__":
    main()
