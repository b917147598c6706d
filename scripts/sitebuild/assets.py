"""The folder of the page's own files, named by its content."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from typing import TYPE_CHECKING

from sitebuild.failure import BuildError
from steps.stamp import files_under, sha256_of

if TYPE_CHECKING:
    from pathlib import Path

    from sitebuild.words import Words

_FONT = re.compile(r"\bfonts/([a-z0-9-]+)\.woff2")
_PART = re.compile(r'^@import "\./(style/[a-z-]+\.css)";$', re.MULTILINE)


def hash_of_folder(folder: Path) -> str:
    """Return 12 hexadecimal digits that change when a file's content or path below it changes."""
    total = hashlib.sha256()
    for path in files_under(folder):
        total.update(f"{path.relative_to(folder).as_posix()}\0{sha256_of(path)}\n".encode())
    return total.hexdigest()[:12]


def collect_assets(root: Path, words: dict[str, Words], samples: Path | None, folder: Path) -> None:
    """Fill a folder with the page's modules, style, typefaces, words and samples.

    `words` become text/NAME.json, by their name: `de` and `en` are what scripts say, `de-page` and
    `en-page` what stands on the page, which is needed only when the language is switched; `-later`
    is what sections say that are loaded when a reader comes near.
    Inside it, paths are as in the repository, so that relative imports hold. Raises BuildError.
    """
    for path in files_under(root / "page"):
        if path.suffix not in (".css", ".toml"):
            _copy(path, folder / path.relative_to(root))
    for style in sorted((root / "page").glob("*.css")):
        target = folder / style.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_whole_style(style), "utf-8")
    for name in ("worker.js",):
        if (root / name).exists():
            _copy(root / name, folder / name)
    _copy_fonts(root, folder)
    for name, texts in words.items():
        target = folder / "text" / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(texts, ensure_ascii=False, sort_keys=True), "utf-8")
    if samples is not None:
        for path in files_under(samples):
            _copy(path, folder / "samples" / path.relative_to(samples))


def _whole_style(style: Path) -> str:
    """Return a style sheet with the parts that it imports in their place: one request, not many.

    Raises BuildError.
    """

    def part(found: re.Match[str]) -> str:
        path = style.parent / found[1]
        if not path.exists():
            raise BuildError(f"{style.name} imports {found[1]}, which is not there")
        return path.read_text("utf-8")

    whole = _PART.sub(part, style.read_text("utf-8"))
    if "@import" in whole:
        raise BuildError(f"{style.name}: an @import must name a part as ./style/NAME.css")
    return whole


def _copy_fonts(root: Path, folder: Path) -> None:
    """Copy each typeface `fonts/NAME.woff2` that a style sheet names from its npm package."""
    for style in sorted((root / "page").rglob("*.css")):
        for name in sorted(set(_FONT.findall(style.read_text("utf-8")))):
            target = folder / "page" / "fonts" / f"{name}.woff2"
            if target.exists():
                continue
            files = root / "node_modules" / "@fontsource-variable" / name / "files"
            source = files / f"{name}-latin-wght-normal.woff2"
            if not source.exists():
                raise BuildError(f"{style.name} names fonts/{name}.woff2; no npm package has it")
            _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
