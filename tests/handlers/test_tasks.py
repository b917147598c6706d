"""What the small tasks do."""

from typing import Any

import numpy as np
import pytest

import handlers
from handlers.errors import BadPayloadError


@pytest.mark.parametrize(("x", "result"), [(7, 49), (-1.5, 2.25), (0, 0)])
def test_square(x: float, result: float) -> None:
    """A number times itself."""
    assert handlers.run("square", {"x": x}) == result


@pytest.mark.parametrize("value", [0, False, "", None, [1, {"a": b"x"}]])
def test_echo(value: Any) -> None:
    """The same object comes back."""
    assert handlers.run("echo", {"value": value}) is value


def test_spin_reports_each_hundredth_at_most_once() -> None:
    """It keeps its thread for as long as it was told, and says how far it is."""
    heard: list[float] = []
    assert handlers.run("spin", {"seconds": 0.05}, heard.append) > 0
    assert len(set(heard)) == len(heard) <= 101
    assert (heard[0], heard[-1]) == (0, 1)


def test_grind_does_the_whole_work() -> None:
    """The largest overlap of two rows of ones is their length."""
    assert handlers.run("grind", {"size": 500}) == 500


def test_allocate_gives_what_it_was_asked_for() -> None:
    """In mebibytes, filled; nothing of it is left behind unless that was asked for."""
    from handlers import memory  # noqa: PLC0415 - its list of what was kept

    array = handlers.run("allocate", {"megabytes": 2})
    assert (array.nbytes, array.dtype, int(array.min())) == (2 << 20, np.uint8, 1)
    assert memory.kept == []
    kept = handlers.run("allocate", {"megabytes": 1, "keep": True})
    assert [kept] == memory.kept
    memory.kept.clear()


@pytest.mark.parametrize(
    ("task", "payload", "field"),
    [
        ("square", {}, "x"),
        ("square", {"x": "7"}, "x"),
        ("square", {"x": True}, "x"),
        ("sleep", {"seconds": -1}, "seconds"),
        ("sleep", {"seconds": float("nan")}, "seconds"),
        ("spin", {"seconds": 1e9}, "seconds"),
        ("grind", {"size": 0}, "size"),
        ("grind", {"size": 1.5}, "size"),
        ("fail", {"kind": "otherwise"}, "kind"),
        ("fail", {"message": 1}, "message"),
        ("allocate", {"megabytes": 4096}, "megabytes"),
        ("allocate", {"megabytes": 1, "keep": 1}, "keep"),
        ("echo", {"worth": 1}, "worth"),
    ],
)
def test_a_wrong_field_is_named(task: str, payload: dict[str, Any], field: str) -> None:
    """Before anything else happens."""
    with pytest.raises(BadPayloadError) as caught:
        handlers.run(task, payload)
    assert caught.value.details["field"] == field
