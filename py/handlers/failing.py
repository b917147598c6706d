"""A task that fails, in every way that an answer must survive."""

from typing import Literal, NoReturn

from handlers.errors import HandlerError
from handlers.registry import task

HUGE = 50_000_000


class UnprintableError(Exception):
    """An exception that cannot even say what it is."""

    def __str__(self) -> str:
        """Fail."""
        raise RuntimeError("no message")


@task("fail")
def fail(
    *,
    message: str = "It was to be expected.",
    kind: Literal["exception", "refusal", "chain", "huge", "unprintable", "exit"] = "exception",
) -> NoReturn:
    """Fail with ``message``.

    ``exception``: as a bug does; ``refusal``: as a handler does, with the code "refusal";
    ``chain``: by two errors before it; ``huge``: with the message repeated up to 50 MB;
    ``unprintable``: with an error that has no message; ``exit``: as a program that ends.
    """
    match kind:
        case "exception":
            raise RuntimeError(message)
        case "refusal":
            raise HandlerError("refusal", message, {"message": message})
        case "chain":
            _chain(message)
        case "huge":
            raise RuntimeError((message or "-") * (HUGE // max(1, len(message))))
        case "unprintable":
            raise UnprintableError
    raise SystemExit(message)


def _chain(message: str) -> NoReturn:
    first = ValueError("The first of three.")
    second = LookupError("The second of three.")
    second.__cause__ = first
    raise RuntimeError(message) from second
