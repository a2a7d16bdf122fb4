"""Our entries in an agent's own settings: put in as text and taken out again, everything else byte for byte.

A settings file is JSON, often with comments and trailing commas, so it is never parsed and written anew: the places
where an entry goes are looked up, and what goes in is text of one fixed form, which is how it comes out to the byte.
Agents write their settings anew themselves: then our entries are found by what they call.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from fleettools.errors import BadInput
from fleettools.policy.signals import jsontext
from fleettools.policy.signals.jsontext import Member, items, members

_OPTION = " --agent "  # what stands before it in a command of ours is the program
_NEW = "{\n\n}\n"  # what a file of ours is made from: nobody else leaves an empty object so


class Call(NamedTuple):
    """A hook of ours in an event's list: its entry, itself within that, and its command, quotes included."""

    entry: Member
    hook: Member
    command: Member


def hooked(text: str, events: Iterable[str], command: str) -> str:
    """The settings with one entry for each event that runs the command; those that it has already are not added.

    An entry that calls ours at another place calls it here from now on. Raises BadInput when the text is no settings
    object, or has something else where hooks go.
    """
    for event in events:
        known = _calls(text, event, command) if text else []
        if not known:
            text = _with(text or _NEW, event, command)
        elif all(_read(text, call.command) != command for call in known):
            at = known[0].command
            text = text[: at.value] + _quoted(command) + text[at.end :]
    return text


def unhooked(text: str, events: Iterable[str], command: str) -> str:
    """The settings without our entries, and without the lists and the object that were made for them."""
    for event in reversed(list(events)):
        text = _without(text, event, command)
        while text and (calls := _calls(text, event, command)):
            text = _cut(text, event, calls[0])
    return "" if text == _NEW else text


def _without(text: str, event: str, command: str) -> str:
    """The settings without what `hooked` put in for an event, if that stands there to the byte."""
    entry = _entry(command)
    for made in (_hooks_member(event, entry), _list_member(event, entry)):
        for written in (made + ",", made):
            if written in text:
                return text.replace(written, "", 1)
    found = _place(text, event) if text else None
    if found is None:
        return text
    inner, item = text[found.value : found.end], _item(entry)
    inner = inner.replace(item + ",", "", 1) if item + "," in inner else inner.replace(item, "", 1)
    return text[: found.value] + inner + text[found.end :]


def _cut(text: str, event: str, call: Call) -> str:
    """The settings without a hook that was written anew since, and without what held nothing but that."""
    root = jsontext.root(text)
    hooks, listed = members(text, root)["hooks"], _place(text, event)
    assert listed is not None
    inner = _inner(text, call.entry)
    within = [(root, hooks), (hooks.value, listed), (listed.value, call.entry), (inner.value, call.hook)]
    opening, gone = within.pop()
    while within and len(items(text, opening)) == 1:
        opening, gone = within.pop()
    return jsontext.without(text, items(text, opening), gone)


def events_of(text: str, events: Iterable[str], command: str) -> list[str]:
    """The events for which the settings hold an entry of ours, wherever that says our program is."""
    return [event for event in events if text and _calls(text, event, command)]


def _calls(text: str, event: str, command: str) -> list[Call]:
    """Our hooks for an event."""
    listed = _place(text, event)
    if listed is None or text[listed.value] != "[":
        return []
    found = []
    for entry in items(text, listed.value):
        inner = _inner(text, entry)
        for hook in items(text, inner.value) if inner and text[inner.value] == "[" else []:
            said = members(text, hook.value).get("command") if text[hook.value] == "{" else None
            if said and _is_ours(_read(text, said), command):
                found.append(Call(entry, hook, said))
    return found


def _inner(text: str, entry: Member) -> Member:
    """The list of hooks of an entry; the entry itself when it has none."""
    return members(text, entry.value).get("hooks", entry) if text[entry.value] == "{" else entry


def _is_ours(found: str, command: str) -> bool:
    """Whether a command is this one, wherever its program stands."""
    (there, _, said), (here, _, ours) = found.partition(_OPTION), command.partition(_OPTION)
    return said == ours and _base(there) == _base(here)


def _base(program: str) -> str:
    return program.rpartition("/")[2].strip("'\" ")


def _read(text: str, value: Member) -> str:
    try:
        read = msgspec.json.decode(text[value.value : value.end], type=str)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return ""
    return read


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _entry(command: str) -> str:
    return f'{{"hooks": [{{"type": "command", "command": {_quoted(command)}}}]}}'


def _item(entry: str) -> str:
    return f"\n      {entry}"


def _list_member(event: str, entry: str) -> str:
    return f'\n    "{event}": [{_item(entry)}\n    ]'


def _hooks_member(event: str, entry: str) -> str:
    return f'\n  "hooks": {{{_list_member(event, entry)}\n  }}'


def _place(text: str, event: str) -> Member | None:
    """Where the list of an event's hooks stands."""
    hooks = members(text, jsontext.root(text)).get("hooks")
    return members(text, hooks.value).get(event) if hooks and text[hooks.value] == "{" else None


def _with(text: str, event: str, command: str) -> str:
    """The settings with our command under an event, and not a byte of the rest changed."""
    entry, root = _entry(command), jsontext.root(text)
    top = members(text, root)
    hooks = top.get("hooks")
    if hooks is None:
        return _put(text, root, _hooks_member(event, entry), bool(top))
    if text[hooks.value] != "{":
        raise BadInput("its `hooks` is no object", "make it one, or add the entries by hand")
    known = members(text, hooks.value)
    listed = known.get(event)
    if listed is None:
        return _put(text, hooks.value, _list_member(event, entry), bool(known))
    if text[listed.value] != "[":
        raise BadInput(f"its hooks for {event} are no list", "make it one, or add the entry by hand")
    return _put(text, listed.value, _item(entry), bool(items(text, listed.value)))


def _put(text: str, opening: int, made: str, more: bool) -> str:
    """What was made stands first behind an opening bracket; a comma follows when there is more."""
    return text[: opening + 1] + made + ("," if more else "") + text[opening + 1 :]
