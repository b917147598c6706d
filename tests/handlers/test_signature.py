"""A task's annotations are its check."""

import math
import string
from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers import Range
from handlers.errors import BadPayloadError
from handlers.signature import signature_of


def taking(hint: Any) -> Callable[[object], object]:
    """Give what a task with the one parameter ``value: hint`` would get for a value."""

    def task(*, value: hint) -> None:  # type: ignore[valid-type]
        """Do nothing."""

    signature = signature_of(task)
    return lambda value: signature.read({"value": value})["value"]


def is_number(value: object) -> bool:
    """Tell whether a value is a number to Python and to JavaScript."""
    return isinstance(value, int | float) and not isinstance(value, bool)


BYTES = bytearray(b"x")
FITS: list[tuple[Any, object, object]] = [
    (bool, False, False),
    (int, 8, 8),
    (int, 8.0, 8),
    (int, 2**70, 2**70),
    (float, 8, 8.0),
    (float, math.inf, math.inf),
    (str, "", ""),
    (bytes, b"", b""),
    (bytes | bytearray, BYTES, BYTES),
    (Literal["a", "b"], "b", "b"),
    (Literal[1, "a"], 1.0, 1),
    (Literal[True], True, True),
    (list, [1, None], [1, None]),
    (list[int], [1.0, 2], [1, 2]),
    (list[list[str]], [["a"], []], [["a"], []]),
    (dict, {1: 2}, {1: 2}),
    (dict[str, float], {"a": 1}, {"a": 1.0}),
    (dict[str, int | None], {"a": None}, {"a": None}),
    (Optional[int], None, None),  # noqa: UP045 - the older spelling is read, too
    (int | None, 3.0, 3),
    (int | str, "3", "3"),
    (object, None, None),
    (Any, math.nan, math.nan),
    (Annotated[int, Range(1, 3)], 3.0, 3),
    (Annotated[float, Range(0, 1)] | None, 1, 1.0),
]


@pytest.mark.parametrize(("hint", "value", "taken"), FITS, ids=str)
def test_what_fits_is_taken(hint: Any, value: object, taken: object) -> None:
    """A value of the type gets through, a number as the kind of number that was asked for."""
    got = taking(hint)(value)
    assert type(got) is type(taken)
    assert got is taken or got == taken


REFUSED: list[tuple[Any, object, str, str]] = [
    (bool, 1, "value", "must be true or false"),
    (int, True, "value", "must be a whole number"),
    (int, 1.5, "value", "must be a whole number"),
    (int, math.nan, "value", "must be a whole number"),
    (int, -math.inf, "value", "must be a whole number"),
    (int, "1", "value", "must be a whole number"),
    (int, None, "value", "must be a whole number"),
    (float, False, "value", "must be a number"),
    (float, 10**400, "value", "must be a number"),
    (str, b"", "value", "must be text"),
    (bytes, "", "value", "must hold bytes"),
    (bytes, bytearray(), "value", "must hold bytes"),
    (bytes | bytearray | memoryview, [1], "value", "must hold bytes"),
    (Literal["a", "b"], "c", "value", "must be one of a, b"),
    (Literal["a"], "c", "value", "must be 'a'"),
    (Literal[1], True, "value", "must be 1"),
    (list[int], [1, "x"], "value[1]", "must be a whole number"),
    (list, (1,), "value", "must be a list"),
    (list[dict[str, str]], [{"a": 1}], "value[0].a", "must be text"),
    (dict[str, int], {1: 1}, "value", "must be an object"),
    (dict[str, int], [], "value", "must be an object"),
    (int | str, [], "value", "must be a whole number or must be text"),
    (Annotated[int, Range(1, 3)], 4, "value", "must be a whole number from 1 to 3"),
    (Annotated[float, Range(0, 0.5)], math.nan, "value", "must be a number from 0 to 0.5"),
]


@pytest.mark.parametrize(("hint", "value", "field", "reason"), REFUSED, ids=str)
def test_what_does_not_fit_is_named(hint: Any, value: object, field: str, reason: str) -> None:
    """The refusal says which field, inside which other, and what it must be."""
    with pytest.raises(BadPayloadError) as caught:
        taking(hint)(value)
    assert caught.value.details["field"] == field
    assert caught.value.details["reason"] == reason


def test_a_range_and_a_choice_tell_their_bounds() -> None:
    """A page can say the limits in its own words."""
    with pytest.raises(BadPayloadError) as caught:
        taking(Annotated[int, Range(1, 3)])(0)
    assert (caught.value.details["low"], caught.value.details["high"]) == (1, 3)
    with pytest.raises(BadPayloadError) as caught:
        taking(Literal["a", "b"])(0)
    assert caught.value.details["known"] == ["a", "b"]


def test_fields_are_known_missing_or_left_out() -> None:
    """A field that nobody reads is refused; None chooses the default; nothing is missing."""

    def task(*, x: int, y: int = 2, z: int | None) -> None:
        """Do nothing."""

    signature = signature_of(task)
    assert signature.read({"x": 1}) == {"x": 1, "z": None}
    assert signature.read({"x": 1, "y": None, "z": 3}) == {"x": 1, "z": 3}
    for payload, field in (({}, "x"), ({"x": 1, "w": 1, "v": 1}, "v"), ({"x": 1, 5: 1}, "5")):
        with pytest.raises(BadPayloadError) as caught:
            signature.read(payload)  # type: ignore[arg-type]
        assert caught.value.details["field"] == field


def positional(x: int) -> None:
    """Take a parameter that has no name in a payload."""


def several(*xs: int) -> None:
    """Take any number of them."""


def anything(**fields: int) -> None:
    """Take fields that nobody named."""


def untyped(*, x) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - that is the case
    """Take a parameter without a type."""


def wrong_default(*, x: Annotated[int, Range(1, 3)] = 0) -> None:
    """Take a default that no caller could give."""


@pytest.mark.parametrize("function", [positional, several, anything, untyped, wrong_default])
def test_a_parameter_that_cannot_be_checked_is_refused(function: Callable[..., None]) -> None:
    """A mistake in a task shows when it is registered, not when it runs."""
    with pytest.raises(TypeError, match="parameter"):
        signature_of(function)


UNKNOWN = [
    complex,
    set[int],
    tuple[int, int],
    dict[int, str],
    list[complex],
    int | complex,
    Callable[[], int],
    type[int],
    Annotated[str, Range(1, 3)],
    Annotated[int, "metres"],
    None,
]


@pytest.mark.parametrize("hint", UNKNOWN, ids=str)
def test_an_annotation_that_cannot_be_checked_is_refused(hint: Any) -> None:
    """It would let every payload through."""
    with pytest.raises(TypeError, match="cannot be checked"):
        taking(hint)


HINTS: dict[Any, Callable[[object], bool]] = {
    bool: lambda value: isinstance(value, bool),
    int: lambda value: is_number(value) and float(value).is_integer(),  # type: ignore[arg-type]
    float: is_number,
    str: lambda value: isinstance(value, str),
    bytes: lambda value: isinstance(value, bytes),
    list: lambda value: isinstance(value, list),
    dict: lambda value: isinstance(value, dict),
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None, database=None)
@given(st.sampled_from(sorted(HINTS, key=str)), VALUES)
def test_a_value_is_taken_exactly_if_it_has_the_type(hint: Any, value: object) -> None:
    """Whatever is in the payload, the task gets its type or is not called."""
    expected = HINTS[hint](value) if not isinstance(value, int) or abs(value) < 2**53 else None
    try:
        got = taking(hint)(value)
    except BadPayloadError:
        assert expected is not True
    else:
        assert expected is not False
        assert isinstance(got, hint)


@settings(deadline=None, database=None)
@given(st.dictionaries(st.sampled_from(string.ascii_lowercase), VALUES, max_size=4))
def test_a_payload_is_read_or_refused(payload: dict[str, object]) -> None:
    """There is no third way, and a refusal names a field of the payload or of the task."""

    def task(*, a: int, b: list[str] | None = None, c: Literal["x", 1] = 1) -> None:
        """Do nothing."""

    try:
        taken = signature_of(task).read(payload)
    except BadPayloadError as refusal:
        field = str(refusal.details["field"]).partition("[")[0]
        assert field in payload or field == "a"
    else:
        assert isinstance(taken["a"], int)
        assert taken.keys() <= {"a", "b", "c"}
