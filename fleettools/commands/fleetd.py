"""fleetd: the pipe of all stages, kept up; and what surrounds it, checked or shown."""

from typing import Literal

import click

from fleettools.adapters.streams import printable
from fleettools.cli import Context, command, state, tmux_server
from fleettools.errors import Exit, FleetError


@command("fleetd")
@click.argument("what", type=click.Choice(["run", "check", "demo"]), default="run", metavar="[run|check|demo]")
@click.option("--all", "everything", is_flag=True, help="With run: write every record, not only what is news.")
@click.option("--once", is_flag=True, help="With run: look once, deliver, and end; for cron.")
@click.option("--stdin", is_flag=True, help="With run: the records come from a pipe of yours, as --print shows it.")
@click.option("--print", "only_print", is_flag=True, help="Print the shell line that does the same, and end.")
@state
@tmux_server
def main(
    ctx: Context,
    what: Literal["run", "check", "demo"],
    everything: bool,
    once: bool,
    stdin: bool,
    only_print: bool,
    state_url: str | None,
    socket_path: str | None,
    socket_name: str | None,
) -> Exit | int | None:
    """Watch a fleet: run scrape, classify, resolve, correlate and notify as one pipe, and keep it up.

    \b
    run     (the default) until TERM or ^C, or with --once for one look
    check   look over the configuration and the surroundings, each fault with its mend
    demo    show an outage and what becomes of it, on a tmux server of its own
    """
    if what != "run" and (everything or once or stdin or only_print):
        raise click.UsageError(f"--all, --once, --stdin and --print go with run, not with {what}")
    if stdin and (once or only_print):
        raise click.UsageError("--stdin goes neither with --once nor with --print")
    if what == "demo" and (state_url or socket_path or socket_name):
        raise click.UsageError("demo has a store and a tmux server of its own; leave --state, -S and -L out")
    if what == "demo":
        from fleettools.demo.show import show

        return show(ctx.out, ctx.messages)
    if what == "check":
        return check(ctx, state_url, socket_path, socket_name)
    from fleettools.daemon.setting import Asked, Setting

    setting = Setting(ctx, Asked(everything, once, state_url, (socket_path, socket_name)))
    if only_print:
        ctx.out.write(setting.shell_line().encode() + b"\n")
        ctx.out.flush()
        return None
    if once:
        from fleettools.daemon.once import once as look

        return look(setting)
    from fleettools.daemon import run

    return run.from_stdin(setting) if stdin else run.run(setting)


def check(ctx: Context, state_url: str | None, socket_path: str | None, socket_name: str | None) -> Exit:
    """Print what there is, every fault with its mend; the status is that of the first fault, 0 for warnings alone."""
    from fleettools.adapters import configfile
    from fleettools.adapters.tmux import Tmux
    from fleettools.config import Config
    from fleettools.services import surroundings

    status, read = Exit.OK, Config()
    lines = [f"configuration {configfile.located(ctx.config_path) or '(none: the defaults hold)'}"]
    try:
        read = ctx.config()
        lines += [f"       {key}" for key in surroundings.key_table(read)] if ctx.messages.level >= 0 else []
    except FleetError as error:
        lines += [str(surroundings.Finding(str(each), status=each.exit)) for each in (error, *error.also)]
        status = error.exit
    for finding in surroundings.look(read, state_url, Tmux(socket_path, socket_name)):
        lines.append(str(finding))
        status = status or finding.status
    for line in lines:
        ctx.out.write(f"{printable(line)}\n".encode())
    ctx.out.flush()
    return status


if __name__ == "__main__":
    main()
