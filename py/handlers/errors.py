"""The errors that a task may end in: each has a stable code, a sentence and the facts behind it.

The sentence is English and says what to do next. A page that speaks another language builds its
own from ``code`` and ``details``, so every value that the sentence needs is in ``details``.
"""

from collections.abc import Mapping


class HandlerError(Exception):
    """A task's refusal: ``code`` is kebab-case and never changes its meaning."""

    def __init__(
        self, code: str, message: str, details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: dict[str, object] = dict(details or {})

    def as_dict(self) -> dict[str, object]:
        """Give the error as plain data that JSON and a structured clone can carry."""
        return {
            "name": type(self).__name__,
            "code": self.code,
            "message": self.message,
            "details": self.details,
        }


class UnknownTaskError(HandlerError):
    """No task of that name is registered; ``details``: ``task``, ``known``."""

    def __init__(self, task: str, known: tuple[str, ...]) -> None:
        super().__init__(
            "unknown-task",
            f"There is no task named {task!r}. Known tasks: {', '.join(known) or 'none'}.",
            {"task": task, "known": list(known)},
        )


class BadPayloadError(HandlerError):
    """A field of the payload is missing or wrong; ``details``: ``field``, ``reason``, range."""

    def __init__(self, field: str, reason: str, **facts: object) -> None:
        super().__init__(
            "bad-payload",
            f"The field {field!r} {reason}.",
            {"field": field, "reason": reason, **facts},
        )


class EmptyError(HandlerError):
    """There are no bytes at all."""

    def __init__(self) -> None:
        super().__init__("empty", "The file is empty. Choose a file that holds a picture.")


class NotAnImageError(HandlerError):
    """The bytes are no picture; ``details``: ``found``, the kind that was recognised, or null."""

    def __init__(self, found: str | None, taken: tuple[str, ...]) -> None:
        kind = f"is a {found} file, not a picture" if found else "is not a picture that we know"
        super().__init__(
            "not-an-image",
            f"This {kind}. Choose one of these formats: {', '.join(taken)}.",
            {"found": found, "taken": list(taken)},
        )


class NoDecoderError(HandlerError):
    """The format is known, but nothing here decodes it.

    ``details``: ``format``, ``taken``, and ``browser_may_decode``: a browser's own decoder may.
    """

    def __init__(self, kind: str, taken: tuple[str, ...], *, browser_may_decode: bool) -> None:
        super().__init__(
            "no-decoder",
            f"This is {kind}, and there is no decoder for it here."
            f" Save the picture as one of these: {', '.join(taken)}.",
            {"format": kind, "browser_may_decode": browser_may_decode, "taken": list(taken)},
        )


class TruncatedError(HandlerError):
    """The file ends before its picture does; ``details``: ``format``."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            "truncated",
            f"The {kind} file ends too early, as after a broken download. Fetch or copy it again.",
            {"format": kind},
        )


class CorruptedError(HandlerError):
    """The file claims a format but does not keep to it; ``details``: ``format``, ``reason``."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(
            "corrupted",
            f"The {kind} file is damaged ({reason}). Open it elsewhere and save it anew.",
            {"format": kind, "reason": reason},
        )


class TooManyBytesError(HandlerError):
    """The file is larger than the limit; ``details``: ``actual`` and ``limit`` in bytes."""

    def __init__(self, actual: int, limit: int) -> None:
        super().__init__(
            "too-many-bytes",
            f"The file has {actual:,} bytes; the limit is {limit:,}. Save it smaller.",
            {"actual": actual, "limit": limit},
        )


class TooManyPixelsError(HandlerError):
    """The header names more pixels than the limit.

    ``details``: ``width``, ``height``, ``actual`` and ``limit`` in pixels.
    """

    def __init__(self, width: int, height: int, limit: int) -> None:
        super().__init__(
            "too-many-pixels",
            f"The picture has {width:,} × {height:,} pixels; the limit is {limit:,} in all."  # noqa: RUF001 - the sign between two lengths
            " Scale it down first.",
            {"width": width, "height": height, "actual": width * height, "limit": limit},
        )


class OutOfMemoryError(HandlerError):
    """The picture keeps to the limits, but the memory for it could not be had."""

    def __init__(self) -> None:
        super().__init__(
            "out-of-memory",
            "There is not enough memory for this picture. Close other tabs or scale it down.",
        )
