"""`python -m fleettools`: the commands, a line each."""

import click

from fleettools import __version__
from fleettools.cli import Command

COMMANDS = {
    "The pipe": {
        "fleet-scrape": "look at the panes of members and leads",
        "fleet-classify": "judge what became of the turn on a screen",
        "fleet-resolve": "own turns: settle tickets, and mark members",
        "fleet-correlate": "count failures for each credential: incidents and quarantines",
        "fleet-notify": "tell each affected lead in its pane, once",
        "fleetd": "run all of these and keep them up; check, demo, cron",
    },
    "Verbs, for people, scripts and leads": {
        "fleet-gate": "may this profile spawn now?",
        "fleet-spawn": "ask the gate, then open a pane with the profile's command",
        "fleet-send": "hand a member work, and open a ticket",
        "fleet-reply": "answer a ticket",
        "fleet-collect": "fetch the outcomes of tickets",
        "fleet-release": "let a member go, or lift a cool-off or a quarantine",
        "fleet-resume": "prompt failed members again when their credential is free",
        "fleet-hook": "pass on what an agent itself says of its turns and limits",
        "fleettools-mcp": "the same verbs and views as tools for an agent",
    },
    "Views": {
        "fleet-list": "the members, their states, and the profiles",
        "fleet-profiles": "the profiles, and what cools off or is quarantined",
        "fleet-health": "one check of the fleet, for cron and monitoring",
        "fleet-timeline": "what happened to each credential over the last hours",
        "fleet-replay": "judge a folder of screens against their right verdicts",
    },
}


@click.command("python -m fleettools", cls=Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="fleettools %(version)s")
def main() -> None:
    """List the commands of fleettools. Each tells more with --help, and in its manual page."""
    width = max(len(name) for commands in COMMANDS.values() for name in commands)
    for title, commands in COMMANDS.items():
        click.echo(f"{title}:")
        for name, text in commands.items():
            click.echo(f"  {name:<{width}}  {text}")


if __name__ == "__main__":
    main()
