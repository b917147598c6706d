"""Tasks are run by name, from a fixed set."""

import pytest

import handlers
from handlers.errors import UnknownTaskError
from tests.corpus import small


def test_the_histogram_is_registered() -> None:
    """The one task that the page shows is there."""
    assert handlers.names() == ("histogram",)


@pytest.mark.parametrize("name", ["", "Histogram", "__class__", "run"])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    """A name that nobody registered has an error of its own, which says what there is."""
    with pytest.raises(UnknownTaskError) as caught:
        handlers.run(name, {})
    assert caught.value.code == "unknown-task"
    assert caught.value.details == {"task": name, "known": ["histogram"]}


def test_a_name_is_given_once() -> None:
    """A second task of the same name is a mistake in the program, not a replacement."""
    with pytest.raises(ValueError, match="is taken"):
        handlers.task("histogram")(lambda _payload, _progress: {})


def test_progress_rises_to_one() -> None:
    """Progress never falls, stays within 0 to 1 and ends at 1."""
    heard: list[float] = []
    payload = {"image": small()["rgb.png"].data, "method": "loop"}
    handlers.run("histogram", payload, heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1
    assert all(0 <= value <= 1 for value in heard)
