"""Every key of the configuration is in fleetd.yaml(5) and in the sample, which holds the defaults it claims."""

import re
from pathlib import Path

import pytest

from fleettools import config
from fleettools.adapters import configfile, shapes

ROOT = Path(__file__).parent.parent
KEYS = [key.place for key in shapes.keys(config.Config)]


def test_the_manual_has_the_keys_of_the_types_and_no_others() -> None:
    page = (ROOT / "man/fleetd.yaml.5").read_text()
    assert sorted(re.findall(r"^\.It Cm (\S+)$", page, re.MULTILINE)) == sorted(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_the_manual_gives_the_default_of(key: str) -> None:
    page = (ROOT / "man/fleetd.yaml.5").read_text()
    default = next(one.default for one in shapes.keys(config.Config) if one.place == key)
    entry = page.partition(f".It Cm {key}\n")[2].partition("\n.It ")[0].partition("\n.El")[0]
    for word in re.findall(r"\w[\w-]*", default.replace(".0", "")):
        assert re.search(rf"\b{word}\b", entry), f"{key}: {word} is missing"


@pytest.mark.parametrize("key", KEYS)
def test_the_sample_explains(key: str) -> None:
    sample = (ROOT / "samples/fleetd.yaml").read_text()
    assert re.search(rf"\b{key.rpartition('.')[2]}\b['\"]?:", sample)


def test_the_sample_is_read_and_holds_the_defaults_where_it_says_so() -> None:
    made = configfile.load(str(ROOT / "samples/fleetd.yaml"))
    for section in ("outage", "placement", "notify", "health", "quarantine_cooldown_seconds", "min_turn_seconds"):
        assert getattr(made, section) == getattr(config.Config(), section)


def test_the_sample_s_comments_are_configuration_too(tmp_path: Path) -> None:
    """What is commented out fits where it stands."""
    text = re.sub(r"^( *(?:- )?)# (\w+: )", r"\1\2", (ROOT / "samples/fleetd.yaml").read_text(), flags=re.MULTILINE)
    text = text.replace("fleetd.yaml: every key", "# every key")
    path = tmp_path / "fleetd.yaml"
    path.write_text(text)
    made = configfile.load(str(path))
    assert made.health.webhook and made.state and made.agents and made.panes[0].command == "claude*"
