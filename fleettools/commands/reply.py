"""fleet-reply: answer a ticket, unless something else has settled it."""

import click

from fleettools.cli import Context, command, complete, state
from fleettools.errors import BadInput, Exit

LONGEST = 1 << 20  # bytes of a reply


@command("fleet-reply")
@click.argument("ticket", shell_complete=complete("tickets"))
@click.option("--text", metavar="TEXT", help="The reply [default: standard input].")
@state
def main(ctx: Context, ticket: str, text: str | None, state_url: str | None) -> Exit:
    """Answer a ticket.

    Prints the settled `ticket`. Exit 1: it was settled before, or there is no such ticket; this reply is then dropped.
    """
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.policy.members import tickets
    from fleettools.services.verbs.reply import reply

    answer = _from_stdin(ctx) if text is None else text
    settled = reply(ctx.store(state_url), clock, ticket, answer)
    ctx.out.write(records.encode(tickets.record(settled, **clock.stamp())))
    ctx.out.flush()
    return Exit.OK


def _from_stdin(ctx: Context) -> str:
    import os
    import sys

    from fleettools.adapters import signals

    if sys.stdin is not None and os.isatty(0):
        ctx.messages.info("reading the reply from the terminal; end with ^D, or give --text")
    parts: list[bytes] = []
    with signals.waiting():
        while chunk := os.read(0, LONGEST):
            parts.append(chunk)
            if sum(map(len, parts)) > LONGEST:
                raise BadInput("the reply is over 1 MiB", "write it to a file, and reply with its name", "stdin")
    try:
        return b"".join(parts).decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 (byte {error.start})", "send the reply as UTF-8", "stdin") from None


if __name__ == "__main__":
    main()
