"""Programs that a step starts."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

# Settings of the person's shell that would send packages elsewhere than into the clone.
_MISLEADING = ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_ROOT")


class CommandError(Exception):
    """A program ended with an error. `lines` is all that it printed."""

    def __init__(self, command: Sequence[str], status: int, lines: list[str]) -> None:
        super().__init__(f"{command[0]} ended with status {status}")
        self.status = status
        self.lines = lines


def clean_environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a step's programs: the person's own, less what misleads.

    They speak English, so that what went wrong can be told from what they say.
    """
    environment = {name: text for name, text in os.environ.items() if name not in _MISLEADING}
    environment["LC_ALL"] = "C.UTF-8"
    environment.update(changes or {})
    return environment


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
) -> list[str]:
    """Run a program to its end and return the lines it printed, both streams together.

    Raises CommandError if it ended with an error. If this process is interrupted, the program
    has ended when KeyboardInterrupt goes on.
    """
    lines: list[str] = []
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=clean_environment(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            for line in process.stdout or ():
                lines.append(line.rstrip("\n"))
                if on_line:
                    on_line(line)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if process.returncode:
        raise CommandError(command, process.returncode, lines)
    return lines
