"""Tasks are run by name, from a fixed set."""

import asyncio

import pytest

import handlers
from handlers.errors import UnknownTaskError
from handlers.registry import start
from tests.corpus import small

NAMES = (
    *("allocate", "echo", "fail", "grind", "histogram"),
    *("resize_image", "sleep", "spin", "square"),
)


def test_the_tasks_of_the_page_are_registered() -> None:
    """Nothing else is, and nothing that only a browser has."""
    assert handlers.names() == NAMES


@pytest.mark.parametrize("name", ["", "Histogram", "__class__", "run", "crash"])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    """A name that nobody registered has an error of its own, which says what there is."""
    with pytest.raises(UnknownTaskError) as caught:
        handlers.run(name, {})
    assert caught.value.code == "unknown-task"
    assert caught.value.details == {"task": name, "known": list(NAMES)}


def test_a_name_is_given_once() -> None:
    """A second task of the same name is a mistake in the program, not a replacement."""
    with pytest.raises(ValueError, match="is taken"):
        handlers.task("histogram")(dict)


def test_a_registered_function_stays_what_it_was() -> None:
    """It can be called as any other, and a type checker sees its own types."""
    from handlers.plain import square  # noqa: PLC0415 - the name of a task, too

    result: float = square(x=1.5)
    assert result == 2.25


def test_progress_rises_to_one() -> None:
    """Progress never falls, stays within 0 to 1 and ends at 1."""
    heard: list[float] = []
    payload = {"image": small()["rgb.png"].data, "method": "loop"}
    handlers.run("histogram", payload, heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1
    assert all(0 <= value <= 1 for value in heard)


def test_an_async_task_is_run_to_its_end() -> None:
    """Whoever runs a task by name need not know that it is async."""
    heard: list[float] = []
    assert handlers.run("sleep", {"seconds": 0.15}, heard.append) >= 0.15
    assert heard == sorted(heard)
    assert heard[-1] == 1


def test_an_async_task_can_be_awaited_where_a_loop_runs() -> None:
    """Then its coroutine is what one gets, checked already."""

    async def two_at_once() -> list[float]:
        return await asyncio.gather(*(start("sleep", {"seconds": 0}) for _ in range(2)))

    assert len(asyncio.run(two_at_once())) == 2
    with pytest.raises(handlers.errors.BadPayloadError):
        start("sleep", {"seconds": -1})
