"""Both languages of the built site are complete and equal, and a gap stops the build."""

from __future__ import annotations

import json
import tomllib

import pytest
from bs4 import BeautifulSoup

from sitebuild.build import build
from sitebuild.failure import BuildError
from steps.place import HERE, Place


def quietly(_words: str) -> None:
    """Take the build's lines and show nothing."""


def change(place: Place, path: str, old: str, new: str) -> None:
    """Replace a text in a file of the clone; it must be there."""
    file = place.root / path
    source = file.read_text("utf-8")
    assert old in source
    file.write_text(source.replace(old, new), "utf-8")


def test_the_english_page_says_everything_in_english(clone: Place) -> None:
    """Content and attributes with a key hold the words of en.toml, and nothing else changes."""
    build(clone, base="/", say=quietly)
    page = BeautifulSoup((clone.site / "en" / "index.html").read_text("utf-8"), "html.parser")
    assert page.html is not None
    assert page.html["lang"] == "en"
    assert page.title is not None
    assert page.title.string == "Three workers"
    [description] = page.select("meta[name=description]")
    assert description["content"] == 'Bigger & "faster"'
    [heading] = page.select("#top")
    assert heading.decode_contents() == "One <em>thread</em>"
    assert not page.find_all(string=lambda text: "nach oben" in (text or ""))


def test_the_repository_s_own_pages_agree_with_its_words() -> None:
    """Each key of en.toml is on the built English page, with those words."""
    words = tomllib.loads((HERE.root / "page" / "text" / "en.toml").read_text("utf-8"))
    page = BeautifulSoup((HERE.site / "en" / "index.html").read_text("utf-8"), "html.parser")
    keys = {
        value
        for element in page.select("*")
        for name, value in element.attrs.items()
        if name == "data-t" or name.startswith("data-t-")
    }
    assert keys == set(flat(words))
    for element in page.select("[data-t]"):
        wanted = BeautifulSoup(str(flat(words)[str(element["data-t"])]), "html.parser")
        assert element.get_text(" ", strip=True) == wanted.get_text(" ", strip=True)


def flat(table: dict[str, object], prefix: str = "") -> dict[str, object]:
    """Return nested tables as one, under dotted keys."""
    found: dict[str, object] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def test_the_words_for_switching_in_place_hold_page_and_scripts(clone: Place) -> None:
    """What scripts say and what stands on the page, in files of their own, with the same keys."""
    build(clone, base="/", say=quietly)
    assets = json.loads((clone.site / "site.json").read_text("utf-8"))["assets"]
    said, said_english, written, written_english = (
        json.loads((clone.site / assets / "text" / f"{name}.json").read_text("utf-8"))
        for name in ("de", "en", "de-page", "en-page")
    )
    assert set(said) == {"busy"} == set(said_english)
    assert set(written) == {"title", "description", "heading", "up"} == set(written_english)
    assert written["description"] == "Größer & schneller"
    assert written["heading"] == "Ein <em>Thread</em>"
    assert said_english["busy"] == "{count} waiting"


@pytest.mark.parametrize(
    ("path", "old", "new", "complaint"),
    [
        ("page/text/en.toml", 'up = "to the top"', "", "missing in en.toml: up"),
        ("page/text/en.toml", "up =", 'ghost = "boo"\nup =', "not in index.html: ghost"),
        ("page/text/strings.toml", 'en = "{count} waiting"', "", "“busy” has no en"),
        ("page/text/strings.toml", "{count} waiting", "{number} waiting", "“busy” has other"),
        ("page/text/en.toml", "up =", "up = =", "en.toml: Invalid value"),
        ("index.html", "<em>Thread", '<em data-t="up">Thread', "key “up” lies within another"),
        ("index.html", 'data-t="up">nach', 'data-t="title">nach', "“title” stands for other words"),
        (
            "index.html",
            'data-t-content="description" content=',
            "data-t-content=",
            "lacks|not there",
        ),
        ("index.html", "</h1>", "", "<h1> in line 18 needs an end tag"),
        ("index.html", '<meta name="site-assets" content="./">', "", "no <meta> for site-assets"),
        ("index.html", "<p>", '<p id="top">', "stand twice on a page: top"),
        ("page/text/en.toml", "One <em>", "One <em id='extra'>", "only one language has: extra"),
    ],
)
def test_a_page_that_is_not_whole_stops_the_build(
    clone: Place, path: str, old: str, new: str, complaint: str
) -> None:
    """The message names the key, and no site is left behind."""
    change(clone, path, old, new)
    with pytest.raises(BuildError, match=complaint):
        build(clone, base="/", say=quietly)
    assert not clone.site.exists()


def test_a_failed_build_leaves_the_last_site(clone: Place) -> None:
    """The site is replaced whole or not at all."""
    build(clone, base="/", say=quietly)
    before = (clone.site / "index.html").read_bytes()
    change(clone, "index.html", "nach oben", "hinauf")
    change(clone, "page/text/en.toml", "up =", "down =")
    with pytest.raises(BuildError):
        build(clone, base="/", say=quietly)
    assert (clone.site / "index.html").read_bytes() == before
    assert not list(clone.temporary.iterdir())
