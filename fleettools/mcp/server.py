"""The server on standard input and output: each call works in a thread of its own, and ends with its client."""

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from fleettools import __version__
from fleettools.adapters import signals
from fleettools.errors import FleetError
from fleettools.mcp import refusal, untrusted
from fleettools.mcp.call import Call, Client, Options, Stopped
from fleettools.mcp.tools import INSTRUCTIONS, TOOLS, Tool, input_schema, output_schema

MOST = 100  # calls that work at the same time; further ones wait for their turn
DEADLY = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _Head(msgspec.Struct):
    id: int | str | None = None


class Wire:
    """Standard output as the SDK writes to it; what has to wait for an answer is done when that is out."""

    def __init__(self) -> None:
        # What a library prints must not come between the messages.
        self._file = anyio.wrap_file(os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n"))
        os.dup2(2, 1)
        self._waiting: dict[int | str, Callable[[], None]] = {}
        self._next: Callable[[], None] | None = None

    def after(self, request: int | str, work: Callable[[], None]) -> None:
        """Do this when the answer to that request has been written."""
        self._waiting[request] = work

    async def write(self, text: str) -> None:
        """Take one message."""
        if self._waiting:
            answered = msgspec.json.decode(text, type=_Head).id
            self._next = None if answered is None else self._waiting.pop(answered, None)
        await self._file.write(text)

    async def flush(self) -> None:
        """Write it."""
        await self._file.flush()
        work, self._next = self._next, None
        if work:
            await anyio.to_thread.run_sync(work)


class Tools:
    """Lists the tools, and answers calls of them."""

    def __init__(self, options: Options, wire: Wire) -> None:
        self._client, self._wire = Client(options), wire
        self._tools = {tool.name: tool for tool in TOOLS if tool.reads or not options.read_only}
        self._room = anyio.CapacityLimiter(MOST)

    async def listed(self, _context: Any, _params: Any) -> types.ListToolsResult:
        """All of them."""
        return types.ListToolsResult(tools=[_described(tool) for tool in self._tools.values()])

    async def called(
        self, context: "ServerRequestContext[Any]", params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """The answer of one, which is told to stop when its client cancels it or is gone."""
        tool = self._tools.get(params.name)
        if tool is None:
            what = f"no tool {params.name[:80]!r}; there are {', '.join(self._tools)}"
            raise MCPError(code=types.INVALID_PARAMS, message=what)
        stop = threading.Event()

        def progress(done: float, total: float | None, text: str) -> None:
            if not stop.is_set():
                anyio.from_thread.run(context.session.report_progress, done, total, text)

        call = Call(self._client, stop, progress)
        async with anyio.create_task_group() as group:
            group.start_soon(_stopped_with_its_scope, stop)
            result = await anyio.to_thread.run_sync(_answer, tool, params.arguments or {}, call, limiter=self._room)
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert result is not None
        if call.after and context.request_id is not None:
            self._wire.after(context.request_id, lambda: _finished(call))
        return result


async def _stopped_with_its_scope(stop: threading.Event) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        stop.set()


def _described(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(
        title=tool.title,
        read_only_hint=tool.reads,
        destructive_hint=tool.destroys,
        idempotent_hint=tool.reads or tool.once,
        open_world_hint=tool.open_world,
    )
    return types.Tool(
        name=tool.name, title=tool.title, description=tool.description, input_schema=input_schema(tool),
        output_schema=output_schema(tool), annotations=hints,
    )  # fmt: skip


def _answer(tool: Tool, arguments: dict[str, Any], call: Call) -> types.CallToolResult | None:
    """What a tool gives, or why it refuses; None when nobody waits for it any more."""
    try:
        return _given(tool, tool.does(call, tool.input(arguments)))
    except refusal.Refused as refused:
        return _refused(refused)
    except FleetError as error:
        return _refused(refusal.of_error(error))
    except Stopped:
        return None
    except Exception as error:
        if call.stopped:
            return None
        call.setting.messages.error(f"internal error: {type(error).__name__}: {error}; please report it")
        return _refused(refusal.of_error(FleetError(f"internal error: {type(error).__name__}: {error}")))
    finally:
        call.close()


def _given(tool: Tool, made: dict[str, Any]) -> types.CallToolResult:
    quotes = False
    if tool.quotes:
        made, quotes = untrusted.cleaned(made)
    if quotes and tool.several:  # some agents are shown nothing but the object
        made = {"untrusted": untrusted.NOTE, **made}
    text = types.TextContent(type="text", text=msgspec.json.encode(made).decode())
    note = [types.TextContent(type="text", text=f"Note: {untrusted.NOTE}")] if quotes else []
    marked = {"fleettools/untrusted": sorted(untrusted.FIELDS)} if quotes else None
    return types.CallToolResult(content=[*note, text], structured_content=made, _meta=marked)


def _refused(refused: refusal.Refused) -> types.CallToolResult:
    structured, _ = untrusted.cleaned(refused.structured)
    text = types.TextContent(type="text", text=untrusted.clean(refused.text))
    return types.CallToolResult(content=[text], structured_content=structured, is_error=True)


def _finished(call: Call) -> None:
    """Do what had to wait until the client has the answer."""
    try:
        if call.after:
            call.after(call)
    except FleetError as error:
        call.setting.messages.warn(f"it will be given once more: {error}")
    finally:
        call.close()


def serve(options: Options) -> None:
    """Answer until standard input ends; killed, bring what has begun to its end and die of the signal."""
    anyio.run(_serve, options)


async def _serve(options: Options) -> None:
    wire = Wire()
    tools = Tools(options, wire)
    server: Server[Any] = Server(
        "fleettools", version=__version__, title="fleettools", instructions=INSTRUCTIONS,
        on_list_tools=tools.listed, on_call_tool=tools.called,
    )  # fmt: skip
    caught: list[int] = []

    async def die_well(scope: anyio.CancelScope) -> None:
        with anyio.open_signal_receiver(*DEADLY) as arriving:
            async for signum in arriving:
                caught.append(signum)
                scope.cancel()

    try:
        async with stdio_server(stdout=wire) as (read, write):  # type: ignore[arg-type]  # it writes and flushes
            async with anyio.create_task_group() as group:
                group.start_soon(die_well, group.cancel_scope)
                await server.run(read, write, server.create_initialization_options())
                group.cancel_scope.cancel()
            if caught:  # the thread that reads standard input would not end
                signals.die(caught[0])
    except* OSError:
        pass  # the client is gone
