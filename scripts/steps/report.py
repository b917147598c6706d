"""What set-up shows while it works: one line a step, and a total at the end."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_MEGABYTE = 1_000_000


def size(count: int) -> str:
    """Return a number of bytes as a person reads it."""
    if count < _MEGABYTE:
        return f"{max(1, round(count / 1000))} kB"
    megabytes = count / _MEGABYTE
    return f"{megabytes:.1f} MB" if megabytes < 10 else f"{megabytes:.0f} MB"  # noqa: PLR2004


def duration(seconds: float) -> str:
    """Return a time span as a person reads it."""
    if seconds < 10:  # noqa: PLR2004
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Report:
    """The lines on the terminal. On a terminal that can move its cursor, a line grows in place."""

    def __init__(self, steps: int, out: TextIO = sys.stdout) -> None:
        self._steps = steps
        self._out = out
        self._started = time.monotonic()
        self._step_started = 0.0
        self._step_bytes = 0
        self._title = ""
        self._line = ""
        self._open = False
        self._number = 0
        self._notes: list[str] = []
        self.total_bytes = 0

    def begin(self, title: str) -> None:
        """Open a step's line."""
        self._number += 1
        self._step_started = time.monotonic()
        self._step_bytes = 0
        self._notes = []
        self._title = title
        self._line = f"[{self._number}/{self._steps}] {title} … "
        self._write(self._line)
        self._open = True

    def now(self, words: str) -> None:
        """Show what the step is doing, where the line can be written again."""
        if self._out.isatty():
            self._write(f"\r{self._line}{words}\x1b[K")

    def downloaded(self, count: int) -> None:
        """Count bytes that came over the network."""
        self._step_bytes += count
        self.total_bytes += count
        if count:
            self.now(size(self._step_bytes))

    def note(self, words: str) -> None:
        """Keep a sentence that is shown below the step's line."""
        self._notes.append(words)

    def end(self, words: str) -> None:
        """Close the step's line; `words` say what there is now."""
        parts = [words] if words else []
        if self._step_bytes:
            parts.append(f"{size(self._step_bytes)} downloaded")
        parts.append(f"done in {duration(time.monotonic() - self._step_started)}")
        self._close(", ".join(parts))

    def unchanged(self, words: str) -> None:
        """Close the line of a step that had nothing to do."""
        self._close(", ".join([words, "unchanged"] if words else ["unchanged"]))

    def failed(self, cause: str, remedy: str) -> None:
        """Close the line of a step that can't go on."""
        self._close("failed")
        self._write(f"\nStep:       {self._title}\nCause:      {cause}\nWay round:  {remedy}\n")

    def interrupted(self) -> None:
        """Close whatever line is open after Ctrl-C."""
        if self._open:
            self._close("interrupted")
        self._write("Nothing is half done: the next run goes on from here.\n")

    def total(self) -> None:
        """Say how long everything took and how much was downloaded."""
        fetched = f"{size(self.total_bytes)} downloaded" if self.total_bytes else "no downloads"
        self._write(f"Ready in {duration(time.monotonic() - self._started)}, {fetched}.\n")

    def _close(self, words: str) -> None:
        start = f"\r{self._line}" if self._out.isatty() else ""
        end = "\x1b[K\n" if self._out.isatty() else "\n"
        self._write(start + words + end)
        self._open = False
        for note in self._notes:
            self._write(f"      {note}\n")
        self._notes = []

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
