"""The log: one line an event, with a fixed action word, for people or for machines."""

from __future__ import annotations

import logging
import sys
from typing import Literal

import structlog

from server.printable import printable


def configure_logs(form: Literal["auto", "console", "json"], *, level: int = logging.INFO) -> None:
    """Sends every log line to stderr. The outbox logs by the standard library and lands here too.

    Form auto: for people on a terminal, otherwise one JSON object a line.
    """
    people = form == "console" or (form == "auto" and sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.ExtraAdder(),
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    last: list[structlog.typing.Processor] = (
        [_visible, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=40)]
        if people
        else [structlog.processors.JSONRenderer()]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("uvicorn", "uvicorn.error", "psycopg.pool"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared[1:], structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _visible(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """What others have written neither steers the terminal nor looks like another event."""
    return {
        name: printable(value, keep="\n\t" if name == "exception" else "")
        if isinstance(value, str)
        else value
        for name, value in event.items()
    }
