"""What a model says, in the four protocols that agents speak: as a stream of events or as one document. Pure."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from live.failures import Said, body

SHELLS = ("bash", "shell", "run_shell_command", "exec_command", "shell_command", "execute_command", "run_commands",
          "run_command", "terminal", "local_shell")  # fmt: skip
PIECE = 40  # characters of a reply in one event


class Answer(NamedTuple):
    """What the model says, and the shell command that it asks for, if any."""

    text: str
    tool: str = ""
    args: dict[str, Any] = {}
    call: str = "call_1"


class Wire(NamedTuple):
    """One protocol: whose errors it writes, and how."""

    name: str
    family: str


MESSAGES, CHAT, RESPONSES, GEMINI = (
    Wire("messages", "anthropic"),
    Wire("chat", "openai"),
    Wire("responses", "openai"),
    Wire("gemini", "gemini"),
)


def wire_of(path: str) -> Wire | None:
    """The protocol of a request, by its path; None when it asks for no answer of a model."""
    path = path.partition("?")[0]
    for wire, end in ((CHAT, "/chat/completions"), (RESPONSES, "/responses"), (MESSAGES, "/messages")):
        if path.endswith(end):
            return wire
    return GEMINI if path.endswith(("enerateContent",)) else None


def streams(path: str, asked: dict[str, Any]) -> bool:
    """Whether a request wants its answer piece by piece."""
    return "streamGenerateContent" in path or bool(asked.get("stream"))


def shell_of(asked: dict[str, Any]) -> dict[str, Any] | None:
    """The tool among a request's own that runs a shell command; None when it offers none: a question on the side."""
    for tool in _tools(asked):
        if str(tool.get("name", "")).lower() in SHELLS:
            return tool
    return None


def _tools(asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for tool in asked.get("tools") or []:
        yield from tool.get("functionDeclarations") or [tool.get("function") or tool]


def arguments(tool: dict[str, Any], command: str, asks: bool = False) -> dict[str, Any]:
    """Arguments with which a tool runs a command, by its own schema; `asks` for what a person has to allow."""
    schema = tool.get("input_schema") or tool.get("parameters") or tool.get("parametersJsonSchema") or {}
    properties = schema.get("properties") or {"command": {"type": "string"}}
    needed = list(schema.get("required") or [])
    needed += [name for name in ("command", "cmd", "commands") if name in properties and name not in needed]
    made = {name: _argument(name, properties.get(name) or {}, command) for name in needed}
    if asks and "sandbox_permissions" in properties:
        made |= {"sandbox_permissions": "require_escalated", "justification": "May I make the file?"}
    return made


def _argument(name: str, schema: dict[str, Any], command: str) -> Any:
    kind = str(schema.get("type", "string")).lower()
    if name in ("command", "cmd", "commands"):
        if kind == "array" and name != "commands":
            return ["sh", "-c", command]
        return [command] if kind == "array" else command
    plain: dict[str, Any] = {"boolean": False, "integer": 10, "number": 10, "array": [], "object": {}}
    return plain.get(kind, "Look at the file")


# -- streams


def events(wire: Wire, answer: Answer) -> Iterator[bytes]:
    """The events of an answer, in order."""
    return {"messages": _messages, "chat": _chat, "responses": _responses, "gemini": _gemini}[wire.name](answer)


def error_event(wire: Wire, said: Said) -> bytes:
    """The event with which a stream that had begun ends in an error."""
    if wire.name == "messages":
        return _event(body(said, "anthropic"), "error")
    if wire.name == "responses":
        failed = {
            "id": "resp_1",
            "status": "failed",
            "output": [],
            "error": {"code": said.name, "message": said.message},
        }
        return _event({"type": "response.failed", "response": failed}, "response.failed")
    if wire.name == "gemini":  # its own client looks for a document between the events
        return json.dumps(body(said, "gemini")).encode()
    return _event(body(said, wire.family))


def refusal_events(wire: Wire, said: Said) -> Iterator[bytes]:
    """A stream in which the provider's safeguards end the answer."""
    if wire.name == "messages":
        yield _start()
        delta = {"stop_reason": "refusal", "stop_sequence": None}
        yield _event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}}, "message_delta")
        yield _event({"type": "message_stop"}, "message_stop")
    else:
        yield _event({"promptFeedback": {"blockReason": said.name}, "usageMetadata": _TOKENS})


_SPENT = {"input_tokens": 10, "output_tokens": 9}
_TOKENS = {"promptTokenCount": 10, "candidatesTokenCount": 20, "totalTokenCount": 30}


def _event(data: dict[str, Any] | str, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))


def _start() -> bytes:
    message: dict[str, Any]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": _SPENT}  # fmt: skip
    return _event({"type": "message_start", "message": message}, "message_start")


def _messages(answer: Answer) -> Iterator[bytes]:
    yield _start()
    yield from _block(
        0, {"type": "text", "text": ""}, [{"type": "text_delta", "text": one} for one in _pieces(answer.text)]
    )
    if answer.tool:
        call = {"type": "tool_use", "id": f"toolu_{answer.call}", "name": answer.tool, "input": {}}
        yield from _block(1, call, [{"type": "input_json_delta", "partial_json": json.dumps(answer.args)}])
    delta = {"stop_reason": "tool_use" if answer.tool else "end_turn", "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 40}}, "message_delta")
    yield _event({"type": "message_stop"}, "message_stop")


def _block(index: int, block: dict[str, Any], deltas: list[dict[str, Any]]) -> Iterator[bytes]:
    start = {"type": "content_block_start", "index": index, "content_block": block}
    yield _event(start, "content_block_start")
    for delta in deltas:
        yield _event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
    yield _event({"type": "content_block_stop", "index": index}, "content_block_stop")


def _chat(answer: Answer) -> Iterator[bytes]:
    yield _chunk({"role": "assistant", "content": ""})
    for piece in _pieces(answer.text):
        yield _chunk({"content": piece})
    if answer.tool:
        yield _chunk({"tool_calls": [{"index": 0, **_chat_call(answer)}]})
    yield _chunk({}, "tool_calls" if answer.tool else "stop")
    yield _event("[DONE]")


def _chat_call(answer: Answer) -> dict[str, Any]:
    function = {"name": answer.tool, "arguments": json.dumps(answer.args)}
    return {"id": f"call_{answer.call}", "type": "function", "function": function}


_USAGE = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5", "choices": [choice]}
    return _event(chunk | ({"usage": _USAGE} if finish else {}))


def _responses(answer: Answer) -> Iterator[bytes]:
    yield _typed({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}})
    items = list(_response_items(answer))
    for index, item in enumerate(items):
        opened = item | {"status": "in_progress"} | ({"content": []} if item["type"] == "message" else {})
        yield _typed({"type": "response.output_item.added", "output_index": index, "item": opened})
        if item["type"] == "message":
            for piece in _pieces(answer.text):
                delta = {"item_id": item["id"], "output_index": index, "content_index": 0, "delta": piece}
                yield _typed({"type": "response.output_text.delta", **delta})
        yield _typed({"type": "response.output_item.done", "output_index": index, "item": item})
    yield _typed({"type": "response.completed", "response": _response(items)})


def _typed(data: dict[str, Any]) -> bytes:
    return _event(data, str(data["type"]))


def _response_items(answer: Answer) -> Iterator[dict[str, Any]]:
    said = [{"type": "output_text", "text": answer.text, "annotations": []}]
    yield {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": said}
    if answer.tool:
        call = {"call_id": f"call_{answer.call}", "name": answer.tool, "arguments": json.dumps(answer.args)}
        yield {"type": "function_call", "id": "fc_1", "status": "completed", **call}


def _response(items: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 30}  # fmt: skip
    return {"id": "resp_1", "object": "response", "status": "completed", "output": items, "usage": usage}


def _gemini(answer: Answer) -> Iterator[bytes]:
    for piece in _pieces(answer.text):
        yield _event(_candidate([{"text": piece}]))
    if answer.tool:
        yield _event(_candidate([{"functionCall": {"name": answer.tool, "args": answer.args}}]))
    yield _event(_candidate([{"text": ""}], "STOP"))


def _candidate(parts: list[dict[str, Any]], finish: str = "") -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if not finish:
        return {"candidates": [candidate], "modelVersion": "gemini-2.5-pro"}
    candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-2.5-pro", "usageMetadata": _TOKENS}


# -- documents


def document(wire: Wire, answer: Answer) -> dict[str, Any]:
    """The whole answer at once."""
    if wire.name == "messages":
        said: list[dict[str, Any]] = [{"type": "text", "text": answer.text}]
        if answer.tool:
            call = {"id": f"toolu_{answer.call}", "name": answer.tool, "input": answer.args}
            said.append({"type": "tool_use", **call})
        stop = "tool_use" if answer.tool else "end_turn"
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": said,
                "stop_reason": stop, "stop_sequence": None, "usage": _SPENT}  # fmt: skip
    if wire.name == "responses":
        return _response(list(_response_items(answer)))
    if wire.name == "gemini":
        parts: list[dict[str, Any]] = [{"text": answer.text}]
        if answer.tool:
            parts.append({"functionCall": {"name": answer.tool, "args": answer.args}})
        return _candidate(parts, "STOP")
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.tool:
        message["tool_calls"] = [_chat_call(answer)]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if answer.tool else "stop"}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5",
        "choices": [choice],
        "usage": _USAGE,
    }


def aside() -> Answer:
    """The answer to an agent's own small questions (a title, a route, who speaks next): JSON with each key."""
    known = {"title": "A short title", "reasoning": "It is simple.", "next_speaker": "user", "model_choice": "pro",
             "complexity_reasoning": "simple", "complexity_score": 10, "isNewTopic": False}  # fmt: skip
    return Answer(json.dumps(known))
