"""Which steps there are, in which order, and for what."""

from __future__ import annotations

import argparse
import fcntl
import io
import sys
from typing import TYPE_CHECKING

from steps import causes
from steps.chromium import get_chromium
from steps.failure import StepError
from steps.node import get_node
from steps.npm_packages import install_npm
from steps.pgbouncer import get_pgbouncer
from steps.place import HERE
from steps.pyodide_wheels import get_wheels
from steps.python_packages import install_locked, install_own
from steps.redis_server import get_redis_server
from steps.report import Report
from steps.site import build_site
from steps.venv import make_venv

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steps.place import Place

    Step = Callable[[Place, Report], None]

PURPOSES = ("run", "check", "test")


def steps_for(purpose: str) -> list[tuple[str, Step]]:
    """Return the steps for a purpose of PURPOSES, each with its title."""
    dev = purpose != "run"
    steps: list[tuple[str, Step]] = [
        ("Virtual environment", make_venv),
        ("Python packages", lambda place, report: install_locked(place, report, dev=dev)),
        ("Own packages", install_own),
        ("Node", get_node),
        ("npm packages", lambda place, report: install_npm(place, report, dev=dev)),
        ("Pyodide's wheels", get_wheels),
        ("Site", build_site),
    ]
    if purpose == "test":
        steps += [
            ("Chromium", get_chromium),
            ("pgbouncer", get_pgbouncer),
            ("Redis", get_redis_server),
        ]
    return steps


def prepare(place: Place, purpose: str) -> int:
    """Run the steps and return the exit status: 0, 1 for a step that failed, 130 after Ctrl-C."""
    steps = steps_for(purpose)
    report = Report(len(steps))
    try:
        for title, step in steps:
            report.begin(title)
            step(place, report)
    except KeyboardInterrupt:
        report.interrupted()
        return 130
    except (StepError, OSError) as error:
        failure = error if isinstance(error, StepError) else causes.from_os_error(error)
        report.failed(failure.cause, failure.remedy)
        return 1
    report.total()
    return 0


def run_from_command_line(arguments: Sequence[str]) -> int:
    """Read the arguments, wait for a set-up that is under way in this clone, and prepare."""
    parser = argparse.ArgumentParser(
        prog="setup.py", description="Prepare a clone; what is there already is not made again."
    )
    parser.add_argument(
        "--for", dest="purpose", choices=PURPOSES, default="run", help="what to prepare for"
    )
    purpose: str = parser.parse_args(arguments).purpose
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may lack “…”
    try:
        HERE.cache.mkdir(exist_ok=True)
        with (HERE.cache / "setup.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("Another set-up is at work in this clone; waiting for it.", flush=True)
                fcntl.flock(lock, fcntl.LOCK_EX)
            return prepare(HERE, purpose)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        failure = causes.from_os_error(error)
        print(f"{failure.cause}\n{failure.remedy}", file=sys.stderr)
        return 1
