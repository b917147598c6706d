"""The words of the page in both languages, by key.

German stands in index.html: an element with `data-t="key"` holds the words as its content, and
one with `data-t-NAME="key"` as its attribute NAME. English stands in page/text/en.toml. What only
scripts say stands in page/text/strings.toml, both languages side by side.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, NamedTuple

from sitebuild.failure import BuildError
from sitebuild.markup import Edits, elements_of, escaped, inner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sitebuild.markup import Element

Words = dict[str, str]
LANGUAGES = ("de", "en")
LATER = {"jobs", "lab"}
"""How the keys begin of what is said only by sections that are loaded when a reader comes near."""

_MARK = "data-t"
_PLACEHOLDER = re.compile(r"\{\w+\}")


class Slot(NamedTuple):
    """A place of the page whose words depend on the language."""

    key: str
    element: Element
    attribute: str | None  # None: the element's content


def slots_of(source: str) -> list[Slot]:
    """Return every translatable place of a page.

    Raises BuildError for one that lies within another or lacks the attribute it names.
    """
    slots = []
    covered = 0
    for element in elements_of(source):
        for name, attribute in element.attributes.items():
            if name != _MARK and not name.startswith(f"{_MARK}-"):
                continue
            if element.start < covered:
                raise BuildError(
                    f"index.html line {element.line}: key “{attribute.value}” lies within another"
                    " element with a key; the outer words would overwrite the inner ones"
                )
            target = None if name == _MARK else name.removeprefix(f"{_MARK}-")
            if target is not None and target not in element.attributes:
                raise BuildError(
                    f"index.html line {element.line}: {name} names an attribute that is not there"
                )
            slots.append(Slot(attribute.value, element, target))
        if _MARK in element.attributes:
            inner(source, element)
            covered = element.inner_end
    return slots


def words_of(source: str) -> Words:
    """Return the words that a page holds, by key: HTML for content, plain text for attributes.

    Raises BuildError if one key stands for different words.
    """
    words: Words = {}
    for slot in slots_of(source):
        text = _text_at(source, slot)
        if words.setdefault(slot.key, text) != text:
            raise BuildError(
                f"index.html line {slot.element.line}: key “{slot.key}” stands for other words"
                " than before"
            )
    return words


def translated(source: str, words: Words) -> str:
    """Return a page with the words of another language in every translatable place.

    Every key of the page must be in `words`.
    """
    edits = Edits(source)
    for slot in slots_of(source):
        if slot.attribute is None:
            edits.replace(slot.element.inner_start, slot.element.inner_end, words[slot.key])
        else:
            attribute = slot.element.attributes[slot.attribute]
            edits.replace(attribute.start, attribute.end, escaped(words[slot.key]))
    return edits.applied()


def read_english(path: Path) -> Words:
    """Return the English words of the page. Raises BuildError for what is not a text."""
    words: Words = {}
    for key, value in _leaves(_toml(path)):
        if not isinstance(value, str):
            raise BuildError(f"{path.name}: “{key}” is not a text")
        words[key] = value.strip()
    return words


def read_strings(path: Path) -> dict[str, Words]:
    """Return what only scripts say, by language and then by key.

    Raises BuildError for a key that lacks a language or whose languages have other placeholders.
    """
    strings: dict[str, Words] = {language: {} for language in LANGUAGES}
    entries: dict[str, Words] = {}
    for full, value in _leaves(_toml(path)):
        key, _, language = full.rpartition(".")
        if language not in LANGUAGES or not isinstance(value, str):
            raise BuildError(f"{path.name}: “{full}” is neither de nor en of a key")
        entries.setdefault(key, {})[language] = value.strip()
    for key, entry in entries.items():
        for language in LANGUAGES:
            if language not in entry:
                raise BuildError(f"{path.name}: “{key}” has no {language}")
            strings[language][key] = entry[language]
        _same_placeholders(path.name, key, entry["de"], entry["en"])
    return strings


def later_apart(strings: Words) -> tuple[Words, Words]:
    """Return what scripts say from the first view on, and what sections say that come later."""
    later = {key: said for key, said in strings.items() if key.partition(".")[0] in LATER}
    return {key: said for key, said in strings.items() if key not in later}, later


def require_equal(german: Words, english: Words) -> None:
    """Raise BuildError, naming the keys, unless both languages have the same ones."""
    missing = sorted(german.keys() - english.keys())
    superfluous = sorted(english.keys() - german.keys())
    complaints = []
    if missing:
        complaints.append(f"missing in en.toml: {', '.join(missing)}")
    if superfluous:
        complaints.append(f"in en.toml and not in index.html: {', '.join(superfluous)}")
    if complaints:
        raise BuildError("; ".join(complaints))
    for key, text in german.items():
        _same_placeholders("en.toml", key, text, english[key])


def _same_placeholders(where: str, key: str, german: str, english: str) -> None:
    if set(_PLACEHOLDER.findall(german)) != set(_PLACEHOLDER.findall(english)):
        raise BuildError(f"{where}: “{key}” has other {{placeholders}} in German than in English")


def _text_at(source: str, slot: Slot) -> str:
    if slot.attribute is not None:
        return slot.element.attributes[slot.attribute].value
    text = inner(source, slot.element).strip()
    return text if "<pre" in text or slot.element.tag == "pre" else re.sub(r"\s+", " ", text)


def _toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise BuildError(f"{path.name} is not there ({path})") from error
    except tomllib.TOMLDecodeError as error:
        raise BuildError(f"{path.name}: {error}") from error


def _leaves(table: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield every value of nested tables under its dotted key."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
