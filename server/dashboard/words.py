"""What the dashboard says, and how it writes numbers, in German and in English."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal

from markupsafe import Markup, escape

Language = Literal["de", "en"]
LANGUAGES: tuple[Language, ...] = ("de", "en")
FILE = Path(__file__).with_name("words.toml")
NONE = "\u2013"
"""Where there is no figure."""

NARROW = "\u202f"
"""Between a number and its unit, which stay on one line."""

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
FINE_S = 0.01
"""What is shorter has a digit after the point in ms."""


@cache
def texts() -> dict[str, dict[Language, str]]:
    """Every sentence by its key, in both languages."""
    return tomllib.loads(FILE.read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Words:
    """Speaks one language."""

    language: Language

    def say(self, key: str, **values: object) -> str:
        """The sentence with the values in it. Raises KeyError for a key that there is not."""
        return texts()[key][self.language].format(**values)

    def rich(self, key: str, **values: object) -> Markup:
        """The same for a sentence that holds markup; the values are escaped."""
        return Markup(texts()[key][self.language]).format(  # noqa: S704 - our own words
            **{name: escape(value) for name, value in values.items()}
        )

    def timed(self, key: str, **values: object) -> Markup:
        """The same where `until`, `due` and `ended` are instants in milliseconds since 1970."""
        told = {
            name: self.time(value)
            if name in {"until", "due", "ended"} and isinstance(value, int | None)
            else value
            for name, value in values.items()
        }
        return self.rich(key, **told)

    def code(self, text: str) -> Markup:
        """What is typed as it stands."""
        return Markup("<code>{}</code>").format(text)

    def dead(self, reason: str) -> str:
        """Why a job is dead; the bare word where it is none of those that we know."""
        key = f"dead.{reason}"
        return self.say(key) if key in texts() else reason

    def whole(self, value: float) -> str:
        """A whole number: 12.345 or 12,345."""
        return self._local(f"{value:,.0f}")

    def decimal(self, value: float, digits: int = 1) -> str:
        """A number with at most so many digits after the point."""
        text = f"{value:,.{digits}f}"
        return self._local(text.rstrip("0").rstrip(".") if "." in text else text)

    def share(self, value: float | None) -> str:
        """A share from 0 to 1 as a percentage; a dash where there is none."""
        if value is None:
            return NONE
        space = "\u00a0" if self.language == "de" else ""
        return f"{self.decimal(100 * value)}{space}%"

    def span(self, seconds: float | None) -> str:
        """A span of time: 12 ms, 4,2 s, 12 min, 3,5 h, 2,1 d; a dash where there is none."""
        if seconds is None:
            return NONE
        if seconds < 1:
            return f"{self.decimal(seconds * 1000, 1 if seconds < FINE_S else 0)}{NARROW}ms"
        for below, unit_s, unit, digits in (
            (10, 1, "s", 1),
            (2 * MINUTE_S, 1, "s", 0),
            (2 * HOUR_S, MINUTE_S, "min", 0),
            (2 * DAY_S, HOUR_S, "h", 1),
        ):
            if seconds < below:
                return f"{self.decimal(seconds / unit_s, digits)}{NARROW}{unit}"
        return f"{self.decimal(seconds / DAY_S)}{NARROW}{self.say('unit.days')}"

    def ms(self, value: float | None) -> str:
        """The same for milliseconds."""
        return self.span(None if value is None else value / 1000)

    def time(self, at: datetime | float | None) -> Markup:
        """An instant (a float: milliseconds since 1970) in UTC, for machines and for people."""
        if at is None:
            return escape(NONE)
        moment = (
            at.astimezone(UTC)
            if isinstance(at, datetime)
            else datetime.fromtimestamp(at / 1000, UTC)
        )
        day = moment.strftime("%d.%m.%Y" if self.language == "de" else "%Y-%m-%d")
        return Markup('<time datetime="{}">{} {}{}UTC</time>').format(
            moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            day,
            moment.strftime("%H:%M:%S"),
            NARROW,
        )

    def _local(self, text: str) -> str:
        if self.language == "en":
            return text
        return text.translate(str.maketrans(",.", ".,"))
