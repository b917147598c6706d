"""Finding and replacing parts of an HTML source without touching the rest of it.

A page is never parsed into a tree and written out again: what is not replaced stays as its
author wrote it, byte for byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

from sitebuild.failure import BuildError

_VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)
_ATTRIBUTE = re.compile(
    r"""\s(?P<name>[^\s=/>"']+)(?:\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'))?"""
)


@dataclass(frozen=True)
class Attribute:
    """An attribute's decoded value, and where the raw value stands in the source."""

    value: str
    start: int
    end: int


@dataclass
class Element:
    """An element as the source has it. Offsets count characters; `inner_end` is -1 if unclosed."""

    tag: str
    line: int
    start: int
    attributes: dict[str, Attribute]
    inner_start: int
    inner_end: int = -1

    def get(self, name: str) -> str | None:
        """Return an attribute's decoded value, None if it is not there."""
        attribute = self.attributes.get(name)
        return attribute.value if attribute else None


@dataclass
class Edits:
    """Replacements that are made all at once, so that offsets stay right meanwhile."""

    source: str
    _edits: list[tuple[int, int, str]] = field(default_factory=list)

    def replace(self, start: int, end: int, text: str) -> None:
        """Note that source[start:end] becomes `text`."""
        self._edits.append((start, end, text))

    def applied(self) -> str:
        """Return the source with every replacement made."""
        parts, position = [], 0
        for start, end, text in sorted(self._edits):
            parts += [self.source[position:start], text]
            position = end
        return "".join([*parts, self.source[position:]])


class _Scanner(HTMLParser):
    """Notes every element of a source."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        element = self._note(tag)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        del attrs
        self._note(tag)

    def handle_endtag(self, tag: str) -> None:
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index].tag == tag:
                self._open[index].inner_end = self._offset()
                del self._open[index:]
                return

    def _offset(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def _note(self, tag: str) -> Element:
        text = self.get_starttag_text() or ""
        start = self._offset()
        attributes = {}
        for found in _ATTRIBUTE.finditer(text):
            group = "double" if found["double"] is not None else "single"
            if found[group] is not None:
                attributes[found["name"].lower()] = Attribute(
                    unescape(found[group]), start + found.start(group), start + found.end(group)
                )
        element = Element(tag, self.getpos()[0], start, attributes, start + len(text))
        self.elements.append(element)
        return element


def elements_of(source: str) -> list[Element]:
    """Return every element of an HTML source, in the order of its start tags."""
    return _Scanner(source).elements


def inner(source: str, element: Element) -> str:
    """Return what stands between an element's tags.

    Raises BuildError if the element has no end tag.
    """
    if element.inner_end < 0:
        raise BuildError(
            f"<{element.tag}> in line {element.line} needs an end tag to be translated"
        )
    return source[element.inner_start : element.inner_end]


def escaped(value: str) -> str:
    """Return a text as it stands between the double quotes of an attribute."""
    return value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
