"""A task's parameters as a check of its payload.

The annotations are read once, when the task is registered. Known are bool, int, float, str, bytes,
bytearray, memoryview, Literal, list, dict with str keys, unions of these, None in a union, object
and Any; ``Annotated[int, Range(1, 9)]`` and the same with float limit a number. Anything else is
refused there and then, because it would let every payload through.
"""

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from handlers.errors import BadPayloadError

Check = Callable[[object, str], object]
"""Gives the value as the task takes it; raises BadPayloadError, which names the field."""


@dataclass(frozen=True)
class Range:
    """The smallest and the largest number that a parameter takes."""

    low: float
    high: float

    def refusal(self, field: str, kind: str) -> BadPayloadError:
        """Give the error for a ``field`` that is no number of that ``kind`` and range."""
        reason = f"must be {kind} from {self.low} to {self.high}"
        return BadPayloadError(field, reason, low=self.low, high=self.high)


@dataclass(frozen=True)
class Parameter:
    """One parameter: how its value is checked, and whether a task can do without."""

    check: Check
    required: bool


@dataclass(frozen=True)
class Signature:
    """What a task takes, by name."""

    parameters: Mapping[str, Parameter]

    def read(self, payload: Mapping[str, object]) -> dict[str, Any]:
        """Give the arguments that ``payload`` holds, each of its type.

        None counts as not given, because JavaScript has ``undefined`` and ``null`` for that, and a
        whole float as an int, because JavaScript has one kind of number. Nothing is copied. Raises
        BadPayloadError for a field that is unknown, missing, of another type or out of range.
        """
        unknown = sorted(str(key) for key in payload if key not in self.parameters)
        if unknown:
            known = sorted(self.parameters)
            raise BadPayloadError(unknown[0], "is not a field of this task", known=known)
        return {
            name: parameter.check(payload.get(name), name)
            for name, parameter in self.parameters.items()
            if parameter.required or payload.get(name) is not None
        }


def signature_of(function: Callable[..., object]) -> Signature:
    """Read the parameters of ``function``.

    Raises TypeError if one of them is not keyword-only, or has no annotation that can be checked
    here, or a default that its annotation does not allow.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters: dict[str, Parameter] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        where = f"The parameter {name!r} of {function.__qualname__}"
        if parameter.kind is not parameter.KEYWORD_ONLY:
            raise TypeError(f"{where} must be keyword-only.")
        if name not in hints:
            raise TypeError(f"{where} has no annotation.")
        try:
            check = _check_of(hints[name])
        except TypeError as error:
            raise TypeError(f"{where}: {error}") from None
        required = parameter.default is parameter.empty
        if not required:
            _check_default(check, parameter.default, where)
        parameters[name] = Parameter(check, required)
    return Signature(parameters)


def _check_default(check: Check, default: object, where: str) -> None:
    try:
        check(default, "default")
    except BadPayloadError as error:
        raise TypeError(f"{where} has a default that it would refuse: {error}") from None


def _check_of(hint: Any) -> Check:
    """Make the check of one annotation; raises TypeError if there is none."""
    simple = _simple(hint)
    if simple is not None:
        return simple
    match get_origin(hint), get_args(hint):
        case origin, options if origin is Literal:
            return _one_of(options)
        case origin, parts if origin in (Union, types.UnionType):
            return _any_of(parts)
        case origin, (inner,) if origin is list:
            return _list_of(_check_of(inner))
        case origin, (key, inner) if origin is dict and key is str:
            return _dict_of(_check_of(inner))
        case origin, (kind, Range() as limits) if origin is Annotated and kind in (int, float):
            return _number(kind, limits)
    raise TypeError(f"{hint!r} cannot be checked.")


def _simple(hint: Any) -> Check | None:
    if hint is object or hint is Any:
        return lambda value, _field: value
    if hint is int or hint is float:
        return _number(hint, None)
    if hint in _KINDS:
        return _instance(hint, _KINDS[hint])
    return None


_KINDS: dict[type, str] = {
    bool: "must be true or false",
    str: "must be text",
    bytes: "must hold bytes",
    bytearray: "must hold bytes",
    memoryview: "must hold bytes",
    list: "must be a list",
    dict: "must be an object",
}


def _instance(kind: type, reason: str) -> Check:
    def check(value: object, field: str) -> object:
        if not isinstance(value, kind):
            raise BadPayloadError(field, reason)
        return value

    return check


def _number(kind: type[int] | type[float], limits: Range | None) -> Check:
    what = "a whole number" if kind is int else "a number"

    def check(value: object, field: str) -> object:
        number = _converted(value, kind)
        if limits is not None and not (number is not None and limits.low <= number <= limits.high):
            raise limits.refusal(field, what)
        if number is None:
            raise BadPayloadError(field, f"must be {what}")
        return number

    return check


def _converted(value: object, kind: type[int] | type[float]) -> float | None:
    """Give ``value`` as a number of that kind, or None if it is none, as a bool is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if kind is int and isinstance(value, float) and not value.is_integer():
        return None
    try:
        return kind(value)
    except OverflowError:  # an int past the largest float
        return None


def _one_of(options: tuple[object, ...]) -> Check:
    named = ", ".join(map(str, options))
    reason = f"must be one of {named}" if len(options) > 1 else f"must be {options[0]!r}"

    def check(value: object, field: str) -> object:
        for option in options:
            kind = type(option)
            same = _converted(value, int) if kind is int else value
            if type(same) is kind and same == option:
                return option
        raise BadPayloadError(field, reason, known=list(options))

    return check


def _any_of(parts: tuple[Any, ...]) -> Check:
    checks = [_check_of(part) for part in parts if part is not types.NoneType]
    optional = types.NoneType in parts

    def check(value: object, field: str) -> object:
        if value is None and optional:
            return None
        refusals: list[BadPayloadError] = []
        for alternative in checks:
            try:
                return alternative(value, field)
            except BadPayloadError as refusal:
                refusals.append(refusal)
        reasons = dict.fromkeys(str(refusal.details["reason"]) for refusal in refusals)
        if len(reasons) == 1:
            raise refusals[0]
        raise BadPayloadError(field, " or ".join(reasons))

    return check


def _list_of(inner: Check) -> Check:
    def check(value: object, field: str) -> object:
        if not isinstance(value, list):
            raise BadPayloadError(field, _KINDS[list])
        return [inner(part, f"{field}[{index}]") for index, part in enumerate(value)]

    return check


def _dict_of(inner: Check) -> Check:
    def check(value: object, field: str) -> object:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise BadPayloadError(field, _KINDS[dict])
        return {key: inner(part, f"{field}.{key}") for key, part in value.items()}

    return check
