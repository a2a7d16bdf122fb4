"""Every key of the configuration is in fleetd.yaml(5) and in the sample, which holds the defaults it claims."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleettools import config
from fleettools.adapters import configfile, shapes, yamlfile

ROOT = Path(__file__).parent.parent
KEYS = [key.place for key in shapes.keys(config.Config)]
WORD = re.compile(r"\w[\w-]*")
# With the words that a default is made of; most keys have none.
DEFAULTS = {
    key.place: words for key in shapes.keys(config.Config) if (words := WORD.findall(key.default.replace(".0", "")))
}


def test_the_manual_has_the_keys_of_the_types_and_no_others() -> None:
    page = (ROOT / "man/fleetd.yaml.5").read_text()
    assert sorted(re.findall(r"^\.It Cm (\S+)$", page, re.MULTILINE)) == sorted(KEYS)


@pytest.mark.parametrize("key", DEFAULTS)
def test_the_manual_gives_the_default_of(key: str) -> None:
    page = (ROOT / "man/fleetd.yaml.5").read_text()
    entry = page.partition(f".It Cm {key}\n")[2].partition("\n.It ")[0].partition("\n.El")[0]
    for word in DEFAULTS[key]:
        assert re.search(rf"\b{word}\b", entry), f"{key}: {word} is missing"


def uncommented() -> str:
    """The sample with what is commented out in force."""
    text = re.sub(r"^( *(?:- )?)# (\w+: )", r"\1\2", (ROOT / "samples/fleetd.yaml").read_text(), flags=re.MULTILINE)
    return text.replace("fleetd.yaml: every key", "# every key")


def places(value: object, place: str = "") -> Iterator[str]:
    """Each place in a YAML value, a name of a person's own as NAME, an element as []."""
    if isinstance(value, list):
        for one in value:
            yield from places(one, f"{place}[]")
    elif isinstance(value, dict):
        for key, one in value.items():
            here = "NAME" if place in ("profiles", "credentials") else str(key)
            yield from places(one, f"{place}.{here}".lstrip("."))
    yield place


@pytest.mark.parametrize("key", KEYS)
def test_the_sample_shows_where_it_stands(key: str, tmp_path: Path) -> None:
    (tmp_path / "fleetd.yaml").write_text(uncommented())
    assert key in set(places(yamlfile.read(str(tmp_path / "fleetd.yaml"), [])))


def test_the_sample_is_read_and_holds_the_defaults_where_it_says_so() -> None:
    made = configfile.load(str(ROOT / "samples/fleetd.yaml"))
    for section in ("outage", "placement", "notify", "health", "quarantine_cooldown_seconds", "min_turn_seconds"):
        assert getattr(made, section) == getattr(config.Config(), section)


def test_the_sample_s_comments_are_configuration_too(tmp_path: Path) -> None:
    """What is commented out fits where it stands."""
    path = tmp_path / "fleetd.yaml"
    path.write_text(uncommented())
    made = configfile.load(str(path))
    assert made.health.webhook and made.state and made.agents and made.panes[0].command == "claude*"
