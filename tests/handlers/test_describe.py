"""Any exception becomes plain data of bounded size."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handlers
from handlers.describe import (
    LONGEST_MESSAGE,
    LONGEST_TRACEBACK,
    MOST_CAUSES,
    describe,
)
from handlers.errors import HandlerError


def caught(kind: str, message: str = "So it is.") -> BaseException:
    """Give what the task ``fail`` raises."""
    with pytest.raises(BaseException) as info:  # noqa: PT011 - of every kind
        handlers.run("fail", {"kind": kind, "message": message})
    return info.value


def causes(described: dict[str, Any]) -> list[dict[str, Any]]:
    """Give a described error and those that led to it."""
    return [described, *(causes(described["cause"]) if "cause" in described else [])]


def test_a_plain_exception() -> None:
    """Class, message and frames, and no field that it has not."""
    described: dict[str, Any] = describe(caught("exception"))
    assert described.keys() == {"name", "message", "traceback"}
    assert (described["name"], described["message"]) == ("RuntimeError", "So it is.")
    assert described["traceback"].startswith("Traceback (most recent call last):\n")
    assert described["traceback"].endswith("RuntimeError: So it is.\n")


def test_frames_of_the_machinery_are_left_out() -> None:
    """The frames begin where the task's own code does."""
    from handlers import failing, registry  # noqa: PLC0415 - for their files

    described: dict[str, Any] = describe(caught("exception"), (__file__, registry.__file__))
    assert registry.__file__ not in described["traceback"]
    assert failing.__file__ in described["traceback"]


def test_a_refusal_has_its_code_and_details() -> None:
    """A page can build a sentence of its own."""
    described = describe(caught("refusal"))
    assert (described["code"], described["details"]) == ("refusal", {"message": "So it is."})


def test_a_chain_is_told_to_its_beginning() -> None:
    """Each error of it has its own class, message and frames."""
    chain = causes(describe(caught("chain")))
    assert [error["name"] for error in chain] == ["RuntimeError", "LookupError", "ValueError"]
    assert "LookupError" not in chain[0]["traceback"]


@pytest.mark.parametrize("hide", [False, True])
def test_an_error_while_another_is_handled_names_it_unless_it_hides_it(*, hide: bool) -> None:
    """As Python itself shows it."""
    error, other = ValueError(), KeyError()
    error.__context__, error.__suppress_context__ = other, hide
    names = [part["name"] for part in causes(describe(error))]
    assert names == (["ValueError"] if hide else ["ValueError", "KeyError"])


def test_a_circle_and_an_endless_chain_come_to_an_end() -> None:
    """Nobody waits for an error to be told."""
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert [error["message"] for error in causes(describe(first))] == ["1", "2"]
    error = ValueError()
    for _ in range(1000):
        error.__cause__, error = None, ValueError()
    last = error
    for _ in range(1000):
        last.__cause__ = ValueError()
        last = last.__cause__
    assert len(causes(describe(error))) == MOST_CAUSES + 1


def test_a_huge_message_is_cut() -> None:
    """Its beginning and its end are kept, and how much is missing; frames are kept, too."""
    described: dict[str, Any] = describe(caught("huge", "abcde"))
    assert len(described["message"]) < LONGEST_MESSAGE + 100
    assert described["message"].startswith("abcdeabcde")
    assert described["message"].endswith("abcde")
    assert "49990000 characters left out" in described["message"]
    assert len(described["traceback"]) < LONGEST_TRACEBACK + 100
    assert "in fail" in described["traceback"]


@pytest.mark.parametrize("kind", ["unprintable", "exit"])
def test_an_exception_that_misbehaves_is_told_all_the_same(kind: str) -> None:
    """One that cannot be printed, and one that is no Exception."""
    described: dict[str, Any] = describe(caught(kind))
    assert described["name"] == {"unprintable": "UnprintableError", "exit": "SystemExit"}[kind]
    assert "in fail" in described["traceback"]


def test_a_message_that_ends_the_program_is_told_as_missing() -> None:
    """Whatever ``__str__`` raises, the error itself arrives."""

    class LeavingError(Exception):
        def __str__(self) -> str:
            raise SystemExit

    described: dict[str, Any] = describe(LeavingError())
    assert described["name"] == "LeavingError"
    assert "SystemExit" in described["message"]


def test_every_error_of_a_group_is_told() -> None:
    """A group's members stand in its traceback."""
    group = ExceptionGroup("several", [ValueError("one"), KeyError("two")])
    described: dict[str, Any] = describe(group)
    assert "ValueError: one" in described["traceback"]
    assert "KeyError: 'two'" in described["traceback"]


DETAILS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.sets(st.integers()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=4,
)


@settings(deadline=None, database=None)
@given(st.dictionaries(st.text(), DETAILS), st.text())
def test_details_are_plain(details: dict[str, Any], message: str) -> None:
    """Whatever a handler puts there, JSON can write it."""
    described = describe(HandlerError("some-code", message, details))
    assert json.loads(json.dumps(described)) == described


def test_details_are_bounded() -> None:
    """A list of a million, a text of a million and a value inside itself."""
    circle: list[Any] = []
    circle.append(circle)
    details = {"list": [0] * 10**6, "text": "x" * 10**6, "circle": circle}
    described = describe(HandlerError("some-code", "", details))
    assert len(json.dumps(described)) < 20_000
