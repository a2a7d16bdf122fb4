"""The SDK's own client on a real fleettools-mcp, for tests that are no coroutines themselves."""

import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple

from anyio.from_thread import BlockingPortal, start_blocking_portal
from desk import Desk, stamp
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client


class Said(NamedTuple):
    """What a tool answered: whether it refused, its object, its texts and what stands beside them."""

    refused: bool
    made: dict[str, Any]
    text: str
    meta: dict[str, Any]


class Talk:
    """A client that is connected; `progress` has what it was told while it waited."""

    def __init__(self, portal: BlockingPortal, session: ClientSession) -> None:
        self.portal, self.session = portal, session
        self.progress: list[str | None] = []

    def tools(self) -> dict[str, Any]:
        """The tools that are offered."""
        return {tool.name: tool for tool in self.portal.call(self.session.list_tools).tools}

    def call(self, tool: str, /, **arguments: Any) -> Said:
        """Call a tool; what it gives is held against its output schema by the SDK."""
        return self.portal.call(self._call, tool, arguments)

    def begin(self, tool: str, /, **arguments: Any) -> "Future[Said]":
        """Call a tool that is not waited for; cancel it to have the server told."""
        return self.portal.start_task_soon(self._call, tool, arguments)

    async def _call(self, name: str, arguments: dict[str, Any]) -> Said:
        async def told(_done: float, _total: float | None, text: str | None) -> None:
            self.progress.append(text)

        got = await self.session.call_tool(name, arguments, progress_callback=told)
        text = "\n".join(block.text for block in got.content)
        return Said(bool(got.is_error), got.structured_content or {}, text, dict(got.meta or {}))


@contextmanager
def talking(desk: Desk, *args: str) -> Iterator[Talk]:
    """A client of a server of its own, on the desk's store, tmux and clock."""
    words = ["-m", "fleettools.commands.mcp", *args]
    env = desk.env | {"FLEET_NOW": stamp(desk.now_ms)}
    server = StdioServerParameters(command=sys.executable, args=words, env=env, cwd=desk.work)

    @asynccontextmanager
    async def session() -> AsyncIterator[ClientSession]:
        async with stdio_client(server) as streams, ClientSession(*streams) as made:
            await made.initialize()
            yield made

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(session()) as made:
        yield Talk(portal, made)
