"""fleettools-mcp: the verbs as tools for an MCP client, on standard input and output."""

import click

from fleettools.cli import Context, command, state, tmux_server
from fleettools.errors import Exit, Unavailable

GET = "pipx inject fleettools 'mcp>=2,<3', uv tool install 'fleettools[mcp]' or pip install 'fleettools[mcp]'"


@command("fleettools-mcp")
@click.option("--read-only", is_flag=True, help="Offer only the tools that change nothing.")
@state
@tmux_server
def main(
    ctx: Context, read_only: bool, state_url: str | None, socket_path: str | None, socket_name: str | None
) -> Exit:
    """Offer the fleet to an MCP client.

    Speaks the Model Context Protocol on standard input and output until that ends: tools that list, spawn, send,
    collect and release. An agent starts it; see fleettools-mcp(1) for how it is registered.
    """
    import gc
    import os
    import sys

    if sys.stdin is not None and os.isatty(0):
        ctx.messages.info("this speaks JSON-RPC with an MCP client, which starts it; end with ^D")
    gc.disable()  # what the SDK loads stays: to look it through again and again takes a third of the start
    try:
        from fleettools.mcp.call import Options
        from fleettools.mcp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise Unavailable("the MCP SDK (mcp 2) is not installed", GET) from None
    gc.freeze()
    gc.enable()
    serve(Options(ctx.anew, state_url, socket_path, socket_name, read_only))
    return Exit.OK


if __name__ == "__main__":
    main()
