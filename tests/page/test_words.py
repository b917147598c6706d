"""Every sentence that a script may say exists in both languages, and none is left over."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SCRIPTS = {path.name: path.read_text("utf-8") for path in sorted((ROOT / "page").glob("*.js"))}
STRINGS = tomllib.loads((ROOT / "page" / "text" / "strings.toml").read_text("utf-8"))
PAGE = tomllib.loads((ROOT / "page" / "text" / "en.toml").read_text("utf-8"))
HANDLERS = "\n".join(
    path.read_text("utf-8") for path in sorted((ROOT / "py" / "handlers").glob("*.py"))
)
PLAIN = re.compile(r'"([a-z]+(?:\.[A-Za-z-]+)+)"')
FILLED = re.compile(r"`([a-z]+\.(?:\$\{[^}]*\}|[^`\s$])*)`")


def said() -> set[str]:
    """Give the keys in the scripts; a part that is filled in at run time is `*`."""
    found = set()
    for text in SCRIPTS.values():
        found |= set(PLAIN.findall(text))
        found |= {re.sub(r"\$\{[^}]*\}", "*", key) for key in FILLED.findall(text)}
    return found | {"samples.*"}  # named by samples.json, which scripts/samples.py writes


def matches(pattern: str, key: str) -> bool:
    """Tell whether a key of the scripts may stand for a key of the words."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".+"), key) is not None


@pytest.mark.parametrize("key", STRINGS)
def test_no_sentence_is_left_over(key: str) -> None:
    """A script says it, as it stands or with a part filled in."""
    assert any(matches(pattern, key) for pattern in said())


def test_every_key_of_a_script_has_words() -> None:
    """`say` would show the key itself."""
    spoken = re.compile(r"""\bsay\(\s*["']([^"'`$]+)["']""")
    wanted = {key for text in SCRIPTS.values() for key in spoken.findall(text)}
    assert wanted
    assert wanted - STRINGS.keys() - PAGE.keys() == set()


@pytest.mark.parametrize("code", re.findall(r'super\(\).__init__\(\s*"([a-z-]+)"', HANDLERS))
def test_every_failure_of_a_picture_has_its_sentence(code: str) -> None:
    """A code of the handlers is a sentence on the page."""
    assert f"error.{code}" in STRINGS


@pytest.mark.parametrize(
    "note", sorted(set(re.findall(r'notes(?:\.add\(|=\{)"([a-z-]+)"', HANDLERS)))
)
def test_every_note_on_a_picture_has_its_sentence(note: str) -> None:
    """A note of the handlers is a sentence on the page."""
    assert f"note.{note}" in STRINGS


def test_a_sentence_has_the_same_blanks_in_both_languages() -> None:
    """What one language fills in, the other fills in too."""
    blanks = re.compile(r"\{(\w+)\}")
    for key, words in STRINGS.items():
        assert set(blanks.findall(words["de"])) == set(blanks.findall(words["en"])), key
