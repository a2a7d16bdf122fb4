"""fleet-classify: judge what became of the turn on each pane, and write a `verdict` in place of the `pane`."""

import codecs
from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, complete, files
from fleettools.errors import BadInput, Exit

if TYPE_CHECKING:
    from fleettools.services.classifier import Classifier


@command("fleet-classify")
@click.option("--agent", metavar="AGENT", shell_complete=complete("agents"), help="Agent of panes that name none.")
@click.option("--profile", metavar="PROFILE", shell_complete=complete("profiles"),
              help="Profile of panes that name none: its agent and its patterns count.")  # fmt: skip
@click.option("--text", "raw", is_flag=True, help="Each input is the text of one screen, not records.")
@click.option("--baseline", metavar="FILE", shell_complete=complete("files"),
              help="The screen at the turn's delivery, for panes without one.")  # fmt: skip
@click.option("--explain", is_flag=True, help="Say on stderr how each verdict came about.")
@files
def main(
    ctx: Context, agent: str | None, profile: str | None, raw: bool, baseline: str | None, explain: bool,
    files: tuple[str, ...],
) -> Exit:  # fmt: skip
    """Judge what became of the turn on each pane: a `verdict` in place of each `pane` record.

    With --text, each FILE (or standard input) is one screen, colours kept or not; its verdict's name is the file's.
    """
    from fleettools.adapters import agentfiles, clock
    from fleettools.adapters.lines import Input, pump
    from fleettools.services.classifier import Classifier

    start = _read(baseline) if baseline else None
    classifier = Classifier(ctx.config(), agentfiles, clock, ctx.messages, agent, profile, start, explain)
    if raw:
        return _screens(ctx, classifier, files or ("-",))
    source, mend = Input(files, ctx.out, ctx.messages), "if it is a screen, give --text; else expected JSON records"
    return pump(source, ctx.out, ctx.messages, {"pane": classifier.pane}, strict=ctx.strict, foreign=mend)


def _screens(ctx: Context, classifier: "Classifier", names: tuple[str, ...]) -> Exit:
    """Judge each file as one screen; one that cannot be read is said, and the rest go on."""
    bad = False
    for name in names:
        try:
            text = _read(name)
        except BadInput as error:
            ctx.messages.error(error)
            bad = True
            if ctx.strict:
                break
            continue
        ctx.out.write(classifier.screen(text, None if name == "-" else name))
        ctx.out.flush()
    ctx.out.flush()
    return Exit.BAD_INPUT if bad else Exit.OK


def _read(name: str) -> str:
    from fleettools import records
    from fleettools.adapters import signals

    try:
        with signals.waiting(), open(0 if name == "-" else name, "rb", closefd=name != "-") as file:
            data = file.read(records.MAX_LINE + 1)
    except OSError as error:
        raise BadInput(error.strerror or "cannot be read", "name a file that can be read", name) from None
    if len(data) > records.MAX_LINE:
        raise BadInput("a screen over 16 MiB", "name a file that holds one screen", name)
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


if __name__ == "__main__":
    main()
