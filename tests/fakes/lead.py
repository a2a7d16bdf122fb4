"""The tests' lead: an MCP client in a pane that calls tools one after the other, and writes down what it is given.

    lead.py OUT TOOL JSON [TOOL JSON ...]

Its server is given so few variables as the SDK gives one: it has to find its lead's pane all the same. Called codex it
does as Codex: what calls the tools is a server in no pane, which outlives the program in the pane.
"""

import json
import os
import sys
import time
from pathlib import Path

import anyio
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

KEPT = ("FLEET_STATE", "FLEET_NOW", "PYTHONPATH", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "LC_ALL")


async def main(out: Path, calls: list[str]) -> None:
    """Call them all; the file is there when the last has answered."""
    env = {key: os.environ[key] for key in KEPT if key in os.environ}
    server = StdioServerParameters(command=sys.executable, args=["-m", "fleettools.commands.mcp"], env=env)
    made = []
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        for name, arguments in zip(calls[::2], calls[1::2], strict=True):
            got = await session.call_tool(name, json.loads(arguments))
            made.append(got.structured_content)
    draft = out.with_suffix(".draft")
    draft.write_text(json.dumps(made))
    draft.rename(out)


def detach() -> None:
    """Go on in a process of no terminal that nobody waits for; the one in the pane stays."""
    if os.fork():
        time.sleep(60)
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)


if __name__ == "__main__":
    if Path(sys.argv[0]).name == "codex":
        detach()
    anyio.run(main, Path(sys.argv[1]), sys.argv[2:])
