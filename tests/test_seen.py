"""What was met before: once each, and no more than fits."""

from fleettools.seen import Once, Seen


def test_a_thing_is_new_once() -> None:
    seen: Seen[str] = Seen()
    assert [seen.add(thing) for thing in ("a", "b", "a", "b", "c")] == [True, True, False, False, True]
    assert "a" in seen and "d" not in seen
    seen.discard("a")
    seen.discard("never there")
    assert seen.add("a")


def test_the_one_unheard_of_for_longest_is_forgotten() -> None:
    seen: Seen[int] = Seen(most=3)
    for thing in (1, 2, 3, 1, 4):
        seen.add(thing)
    assert list(seen) == [3, 1, 4] and len(seen) == 3


def test_a_text_is_said_once_until_what_was_wrong_is_over() -> None:
    said: list[str] = []
    once = Once(said.append)
    for text in ("no server", "no server", "no store"):
        once(text)
    once.over()
    once("no server")
    assert said == ["no server", "no store", "no server"]
