"""The report of a queue's day as a PDF. Pure: what it says is given to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from fpdf import FPDF
from fpdf.enums import XPos, YPos

from server.engines import JobView
from server.redisq.model import State

DAY = timedelta(days=1)
_WIDTHS = (34, 44, 16, 20, 76)
_COLUMNS = ("ended (UTC)", "task", "state", "ran", "what was said")
_LONGEST_WORDS = 48


def render(depth: Mapping[State, int], ended: Sequence[JobView], now: datetime) -> bytes:
    """The report as a PDF: how many jobs are where, and which ended within a day before `now`.

    The same arguments give the same bytes.
    """
    since = (now - DAY).timestamp() * 1000
    recent = [job for job in ended if (job.ended_ms or 0) >= since]
    recent.sort(key=lambda job: -(job.ended_ms or 0))
    pdf = FPDF(format="A4")
    pdf.set_creation_date(now)
    pdf.set_title("The queue's day")
    pdf.add_page()
    _line(pdf, "The queue's day", size=20, style="B")
    _line(pdf, f"{now - DAY:%Y-%m-%d %H:%M} to {now:%Y-%m-%d %H:%M} UTC", size=10)
    _line(pdf, "  ".join(f"{state}: {count}" for state, count in depth.items()), size=12)
    _line(pdf, f"The last {len(recent)} jobs that ended", size=14, style="B")
    _row(pdf, _COLUMNS, style="B")
    for job in recent:
        _row(pdf, _cells(job))
    return bytes(pdf.output())


def _line(pdf: FPDF, text: str, *, size: int, style: str = "") -> None:
    pdf.set_font("helvetica", style=style, size=size)
    pdf.cell(0, size * 0.7, _latin(text), new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def _row(pdf: FPDF, cells: Sequence[str], *, style: str = "") -> None:
    pdf.set_font("helvetica", style=style, size=8)
    for width, text in zip(_WIDTHS, cells, strict=True):
        pdf.cell(width, 5, _latin(text))
    pdf.ln()


def _cells(job: JobView) -> tuple[str, ...]:
    ended = datetime.fromtimestamp((job.ended_ms or 0) / 1000, UTC)
    ran = "" if job.claimed_ms is None else f"{(job.ended_ms or 0) - job.claimed_ms} ms"
    said = (job.error or "").strip().splitlines() if job.state == "dead" else []
    words = f"{job.reason}: {said[-1]}" if said else job.reason or ""
    return (f"{ended:%Y-%m-%d %H:%M:%S}", job.task[:26], job.state, ran, words[:_LONGEST_WORDS])


def _latin(text: str) -> str:
    """The text in the letters that a PDF's own fonts have."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return printable.encode("latin-1", "replace").decode("latin-1")
