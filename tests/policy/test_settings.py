"""Our entries in an agent's settings: put in, found again, and taken out to the byte."""

import json

import pytest

from fleettools.errors import BadInput
from fleettools.policy.signals import settings, tomlline

EVENTS = ("UserPromptSubmit", "Stop", "StopFailure")
LINE = "fleet-hook --agent claude --post"

TEXTS = {
    "no file": "",
    "an empty object": "{}",
    "an empty object on a line": "{}\n",
    "an empty object on two lines": "{\n}\n",
    "other keys": '{"model": "x", "env": {"A": "}"}}',
    "windows line ends": '{\r\n  "model": "x"\r\n}\r\n',
    "a byte order mark": '\ufeff{"a": 1}',
    "comments and trailing commas": '{\n  // mine\n  "a": 1, /* { */\n  "hooks": {"Stop": [ {"hooks": []}, ], },\n}\n',
    "empty hooks": '{"hooks": {}}',
    "an empty list of hooks": '{"hooks": {"Stop": []}, "z": [1, {"q": "]"}]}\n',
    "hooks of another program": '{"hooks": {"StopFailure": [{"hooks": [{"type": "command", "command": "x"}]}]}}\n',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_what_was_put_in_is_taken_out_to_the_byte(text: str) -> None:
    put = settings.hooked(text, EVENTS, LINE)
    assert settings.events_of(put, EVENTS, LINE) == list(EVENTS)
    assert settings.hooked(put, EVENTS, LINE) == put, "twice is once"
    assert settings.unhooked(put, EVENTS, LINE) == text
    assert settings.unhooked(text, EVENTS, LINE) == text


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in ("comments and trailing commas",)])
def test_the_settings_stay_json_with_all_that_was_there(name: str) -> None:
    text = TEXTS[name].removeprefix("\ufeff")
    put = json.loads(settings.hooked(text, EVENTS, LINE))
    before = json.loads(text or "{}")
    assert {key: value for key, value in put.items() if key != "hooks"} == {
        key: value for key, value in before.items() if key != "hooks"
    }
    for event in EVENTS:
        ours, *others = put["hooks"][event]
        assert ours == {"hooks": [{"type": "command", "command": LINE}]}
        assert others == before.get("hooks", {}).get(event, [])


def test_what_was_added_since_stays() -> None:
    put = settings.hooked('{"a": 1}', EVENTS, LINE)
    more = put.replace('"a": 1', '"a": 2, "b": 3')
    assert settings.unhooked(more, EVENTS, LINE) == '{"a": 2, "b": 3}'


@pytest.mark.parametrize("indent", [None, 2, 8])
@pytest.mark.parametrize("text", [text for text in TEXTS.values() if text.startswith("{") and "//" not in text])
def test_what_the_agent_wrote_anew_is_found_and_taken_out(text: str, indent: int | None) -> None:
    """An agent that changes one of its own settings writes the whole file in its own form."""
    written = json.dumps(json.loads(settings.hooked(text, EVENTS, LINE)) | {"theme": "dark"}, indent=indent)
    assert settings.hooked(written, EVENTS, LINE) == written
    left = json.loads(settings.unhooked(written, EVENTS, LINE))
    before = json.loads(text) | {"theme": "dark"}
    assert {name: value for name, value in left.items() if value} == {
        name: value for name, value in before.items() if value and any(value.values() if name == "hooks" else [1])
    }


OURS = {"type": "command", "command": LINE, "timeout": 5}
BELL = {"type": "command", "command": "bell"}


@pytest.mark.parametrize(
    ("stop", "left"),
    [
        ([{"matcher": "", "hooks": [OURS]}], None),
        ([{"hooks": [BELL, OURS]}], [{"hooks": [BELL]}]),
        ([{"hooks": [OURS, BELL]}], [{"hooks": [BELL]}]),
        ([{"hooks": [BELL]}, {"hooks": [OURS]}, {"hooks": [OURS]}], [{"hooks": [BELL]}]),
        ([{"hooks": [OURS]}, 7, {"hooks": 7}, {"a": 1}, {"hooks": [7]}], [7, {"hooks": 7}, {"a": 1}, {"hooks": [7]}]),
    ],
)
def test_only_our_own_hook_goes(stop: object, left: object) -> None:
    before = {"a": 1, "hooks": {"Start": [{"hooks": [BELL]}], "Stop": stop}}
    found = json.loads(settings.unhooked(json.dumps(before), EVENTS, LINE))
    wanted = {"Start": [{"hooks": [BELL]}]} | ({} if left is None else {"Stop": left})
    assert found == {"a": 1, "hooks": wanted}


def test_a_hook_of_ours_at_another_place_is_mended_and_found_by_any_name() -> None:
    moved = "'/new venv/bin/fleet-hook' --agent claude --post"
    old = settings.hooked(TEXTS["other keys"], EVENTS, "/old/bin/fleet-hook --agent claude --post")
    put = settings.hooked(old, EVENTS, moved)
    assert put == old.replace("/old/bin/fleet-hook", "'/new venv/bin/fleet-hook'")
    assert settings.events_of(put, EVENTS, LINE) == list(EVENTS)
    assert settings.unhooked(put, EVENTS, moved) == TEXTS["other keys"]
    assert json.loads(settings.unhooked(old, EVENTS, moved)) == json.loads(TEXTS["other keys"])
    assert settings.events_of(put, EVENTS, "fleet-hook --agent qwen --post") == []


@pytest.mark.parametrize(
    "text",
    ["[]", "{", "x", '{"a" 1}', '{"hooks": 3}', '{"hooks": {"Stop": {}}}', '{"a": 1}{', "[" * 5000, '{"a":' * 900],
)
def test_what_is_no_settings_object_is_left_alone(text: str) -> None:
    with pytest.raises(BadInput):
        settings.hooked(text, EVENTS, LINE)


WORDS = ["fleet-hook", "--agent", "codex", "--post"]


def test_a_notify_line_comes_and_goes() -> None:
    text = '# mine\nmodel = "x"\n\n[projects."/a"]\ntrust_level = "trusted"\n'
    put = tomlline.notified(text, WORDS)
    assert tomlline.is_notified(put, WORDS) and tomlline.notified(put, WORDS) == put
    assert tomlline.unnotified(put, WORDS) == text


def test_a_notify_line_of_another_place_is_mended_and_taken_out() -> None:
    text = '# mine\nmodel = "x"\n'
    old = tomlline.notified(text, ["/old/bin/fleet-hook", *WORDS[1:]])
    assert tomlline.is_notified(old, WORDS) and tomlline.notified(old, WORDS) == tomlline.notified(text, WORDS)
    assert tomlline.unnotified(old, WORDS) == text
    assert not tomlline.is_notified('notify = ["not-fleet-hook","--agent","codex","--post"]\n', WORDS)


@pytest.mark.parametrize(
    ("text", "says"), [('notify = ["bell"]\n', "'bell' already"), ("notify = \n", "no TOML"), ("[a\n", "no TOML")]
)
def test_another_programs_notify_is_never_written_anew(text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        tomlline.notified(text, WORDS)


def test_a_table_with_a_notify_of_its_own_is_no_notify() -> None:
    text = '[other]\nnotify = ["bell"]\n'
    assert tomlline.notified(text, WORDS).endswith(text)
