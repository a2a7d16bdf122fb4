"""fleet-send: hand a member a prompt, with proof that it was submitted, and open a ticket for it."""

import click

from fleettools.cli import Context, command, complete, state, tmux_server
from fleettools.errors import BadInput, Exit, Unknown

LONGEST = 1 << 20  # bytes of a prompt


@command("fleet-send")
@click.argument("target", shell_complete=complete("targets"))
@state
@tmux_server
def main(ctx: Context, target: str, state_url: str | None, socket_path: str | None, socket_name: str | None) -> Exit:
    """Hand a member the prompt on standard input.

    TARGET is a pane id (%5) or a member's exact name. Prints the `ticket`. Exit 75: the prompt was
    not submitted; 1: there is no such member.
    """
    prompt = _prompt(ctx)
    from fleettools import records
    from fleettools.adapters import agentfiles, clock, terminals
    from fleettools.adapters.tmux import Tmux
    from fleettools.policy.members import tickets
    from fleettools.services.verbs import send

    store, tmux = ctx.store(state_url), Tmux(socket_path, socket_name)
    doors = send.Doors(
        ctx.config(), store, tmux, terminals.Terminals(), clock, ctx.messages, agentfiles.of, terminals.started,
        ctx.finder(),
    )  # fmt: skip
    try:
        handed = send.send(doors, target, send.checked(prompt))
    except Unknown as error:
        ctx.messages.warn(error.what)
        raise Unknown(send.NOTHING, error.mend) from None
    if handed.sent.ticket is not None:
        ctx.out.write(records.encode(tickets.record(handed.sent.ticket, **clock.stamp())))
        ctx.out.flush()
    if handed.trouble:
        raise handed.trouble
    return Exit.OK


def _prompt(ctx: Context) -> str:
    """The text on stdin; raises BadInput for one that is too long, or not UTF-8."""
    import os
    import sys

    from fleettools.adapters import signals

    if sys.stdin is not None and os.isatty(0):
        ctx.messages.info("reading the prompt from the terminal; end with ^D")
    parts: list[bytes] = []
    with signals.waiting():
        while sum(map(len, parts)) <= LONGEST and (chunk := os.read(0, LONGEST)):
            parts.append(chunk)
    data = b"".join(parts)
    if len(data) > LONGEST:
        raise BadInput("the prompt is over 1 MiB", "write it to a file, and send its name", "stdin")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 (byte {error.start})", "send the prompt as UTF-8", "stdin") from None


if __name__ == "__main__":
    main()
