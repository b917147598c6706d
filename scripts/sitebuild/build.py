"""The whole build: from the sources to a folder that any static server can serve."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from sitebuild.assets import collect_assets, hash_of_folder
from sitebuild.compress import compress_folder
from sitebuild.failure import BuildError
from sitebuild.not_found import not_found
from sitebuild.offline import add_offline_worker
from sitebuild.pages import Where, placed, require_same_ids
from sitebuild.runtime import make_runtime
from sitebuild.samples import make_samples
from sitebuild.words import (
    LANGUAGES,
    Words,
    later_apart,
    read_english,
    read_strings,
    require_equal,
    translated,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from steps.place import Place


def build(place: Place, *, base: str, say: Callable[[str], None]) -> None:
    """Build the site and put it in place of the last one, whole or not at all.

    The same sources give the same names and the same bytes. `base` is the path at which the site
    will be served; only 404.html depends on it. Raises BuildError.
    """
    if not (base.startswith("/") and base.endswith("/")):
        raise BuildError(f"--base {base}: a path that begins and ends with a slash is needed")
    source_path = place.root / "index.html"
    if not source_path.exists():
        raise BuildError("index.html is not there")
    source = source_path.read_text("utf-8")
    page_words = {
        "de": words_of(source),
        "en": read_english(place.root / "page" / "text" / "en.toml"),
    }
    require_equal(page_words["de"], page_words["en"])
    strings = read_strings(place.root / "page" / "text" / "strings.toml")
    _require_agreement(page_words, strings)
    words = {f"{language}-page": page_words[language] for language in LANGUAGES}
    for language in LANGUAGES:
        words[language], words[f"{language}-later"] = later_apart(strings[language])
    place.temporary.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.temporary) as name:
        new = Path(name) / "site"
        new.mkdir()
        say("samples and runtime")
        with ThreadPoolExecutor() as pool:  # each is a program of its own
            painting, making = pool.submit(make_samples, place), pool.submit(make_runtime, place)
            samples, made = painting.result(), making.result()
        if samples is None:
            say("skipped the samples: scripts/samples.py is not there")
        if made is None:
            say("skipped the runtime: scripts/runtime/build.mjs is not there")
        assets = _assets(place, words, samples, new)
        runtime = _runtime(made, new)
        say("pages")
        build_id = _build_id(source, page_words["en"], assets, runtime)
        _pages(source, page_words["en"], new, (assets, runtime, build_id))
        (new / "404.html").write_text(not_found(base, assets), "utf-8")
        favicon = place.root / "page" / "favicon.svg"
        if favicon.exists():
            shutil.copyfile(favicon, new / "favicon.svg")
        add_offline_worker(place.root, new, build_id, assets)
        folders = {"assets": assets, "runtime": runtime, "build": build_id}
        (new / "site.json").write_text(json.dumps(folders) + "\n", "utf-8")
        say("compressed twins")
        compress_folder(new, place.cache / "compressed")
        if place.site.exists():
            place.site.rename(Path(name) / "old")
        new.rename(place.site)
    say(f"built {assets} {runtime}".rstrip())


def _require_agreement(page: dict[str, Words], strings: dict[str, Words]) -> None:
    """Raise BuildError if a key that page and scripts have in common says different things."""
    for language in LANGUAGES:
        both = page[language].keys() & strings[language].keys()
        different = sorted(key for key in both if page[language][key] != strings[language][key])
        if different:
            raise BuildError(
                f"{language} differs between the page and strings.toml: {', '.join(different)}"
            )


def _assets(place: Place, words: dict[str, Words], samples: Path | None, new: Path) -> str:
    unnamed = new / "assets" / "unnamed"
    collect_assets(place.root, words, samples, unnamed)
    name = hash_of_folder(unnamed)
    unnamed.rename(new / "assets" / name)
    return f"assets/{name}/"


def _runtime(made: Path | None, new: Path) -> str:
    if made is None:
        return ""
    name = hash_of_folder(made)
    shutil.copytree(made, new / "runtime" / name)
    return f"runtime/{name}/"


def _build_id(source: str, english: Words, assets: str, runtime: str) -> str:
    """Return 12 hexadecimal digits that change when any page or anything it needs changes."""
    everything = json.dumps([source, english, assets, runtime], sort_keys=True)
    return hashlib.sha256(everything.encode()).hexdigest()[:12]


def _pages(source: str, english: Words, new: Path, folders: tuple[str, str, str]) -> None:
    german = placed(source, Where("de", "./", *folders))
    translation = placed(translated(source, english), Where("en", "../", *folders))
    require_same_ids(german, translation)
    (new / "index.html").write_text(german, "utf-8")
    (new / "en").mkdir()
    (new / "en" / "index.html").write_text(translation, "utf-8")
