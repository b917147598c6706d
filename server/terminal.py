"""What all commands share: settings, messages, exit codes, output."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import psycopg
import typer

from server.errors import WorkersError
from server.logs import configure_logs
from server.outbox import ConfigurationError, OutboxError
from server.printable import printable, printable_json
from server.settings import Settings, load_settings
from server.signals import end_by_exception

if TYPE_CHECKING:
    from rich.console import JustifyMethod

INTERRUPTED = 130
NEWLINES = "\n\t"

DataDir = Annotated[
    Path | None, typer.Option(help="Folder of the embedded database.", show_default=".data")
]


@contextmanager
def said_clearly() -> Iterator[None]:
    """Turns what can go wrong into a message and an exit code. Stands around every command."""
    end_by_exception()
    try:
        yield
    except WorkersError as error:
        _complain(str(error), error.hint)
        raise typer.Exit(error.exit_code) from error
    except psycopg.OperationalError as error:
        _complain(f"the database is away: {str(error).strip()}")
        raise typer.Exit(1) from error
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction) as error:
        _complain(f"the database does not allow it: {error}")
        raise typer.Exit(1) from error
    except OutboxError as error:
        _complain(str(error))
        raise typer.Exit(2 if isinstance(error, ConfigurationError) else 1) from error
    except BrokenPipeError:
        raise  # nobody reads on; the command line ends it quietly
    except OSError as error:
        if error.filename:
            _complain(
                f"{error.strerror or error}: {error.filename}",
                "Name a folder that can be written with --data-dir, or use DATABASE_URL.",
            )
        else:
            _complain(str(error))
            _drop_output()
        raise typer.Exit(1) from error
    except UnicodeEncodeError as error:
        _complain(f"{error.object[error.start : error.end]!r} is no text: {error.reason}")
        raise typer.Exit(2) from error
    except KeyboardInterrupt as error:
        raise typer.Exit(INTERRUPTED) from error


def _complain(message: str, hint: str | None = None) -> None:
    typer.echo(f"workers: {printable(message, keep=NEWLINES)}", err=True)
    if hint:
        typer.echo(hint, err=True)


def _drop_output() -> None:
    """What could not be written is not tried again when the program ends."""
    with suppress(OSError), Path(os.devnull).open("w", encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), sys.stdout.fileno())


def settings_for(*, quiet: bool = False, **overrides: object) -> Settings:
    """Reads the settings and starts the log; a command whose answer is its output keeps quiet."""
    settings = load_settings(**overrides)
    configure_logs(settings.log, level=logging.WARNING if quiet else logging.INFO)
    return settings


def print_json(document: Any) -> None:
    """Prints a document for people and for jq."""
    text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
    typer.echo(printable_json(text))


def print_table(
    columns: Mapping[str, JustifyMethod], rows: Iterable[Sequence[str]], *, title: str | None = None
) -> None:
    """Prints a table for people. Whatever stands in a cell, only its text is shown."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title)
    for name, justify in columns.items():
        table.add_column(name, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console().print(table)
