"""The fixed set of tasks that may be run by name."""

from collections.abc import Callable, Mapping

from handlers.errors import UnknownTaskError

Payload = Mapping[str, object]
Result = dict[str, object]
Progress = Callable[[float], None]
Handler = Callable[[Payload, Progress], Result]

_handlers: dict[str, Handler] = {}


def task(name: str) -> Callable[[Handler], Handler]:
    """Register the decorated function under ``name``; a name that is taken raises ValueError."""

    def register(handler: Handler) -> Handler:
        if name in _handlers:
            raise ValueError(f"The task name {name!r} is taken.")
        _handlers[name] = handler
        return handler

    return register


def names() -> tuple[str, ...]:
    """Give the registered names in alphabetical order."""
    return tuple(sorted(_handlers))


def run(name: str, payload: Payload, progress: Progress | None = None) -> Result:
    """Run the task ``name`` and give its result.

    ``progress`` is called with values from 0 to 1 that never fall. Raises UnknownTaskError, or
    whichever HandlerError the task documents.
    """
    handler = _handlers.get(name)
    if handler is None:
        raise UnknownTaskError(name, names())
    return handler(payload, progress or _unheard)


def _unheard(_value: float) -> None:
    """Drop a progress value that nobody asked for."""
