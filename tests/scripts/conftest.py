"""A small clone: enough of a repository to build a site from, in a folder of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from steps.place import HERE, Place

if TYPE_CHECKING:
    from pathlib import Path

INDEX = """<!DOCTYPE html>
<html lang="de">
<head>
  <meta charset="utf-8">
  <title data-t="title">Drei Worker</title>
  <meta name="description" data-t-content="description" content="Größer &amp; schneller">
  <meta name="site-root" content="./">
  <meta name="site-assets" content="./">
  <meta name="site-runtime" content="runtime/">
  <meta name="site-build" content="source">
  <link rel="canonical" href="./">
  <link rel="alternate" hreflang="de" href="./">
  <link rel="alternate" hreflang="en" href="en/">
  <link rel="stylesheet" href="page/style.css">
  <script type="module" src="page/main.js"></script>
</head>
<body>
  <h1 id="top" data-t="heading">Ein <em>Thread</em></h1>
  <p><a href="#top" data-t="up">nach oben</a> <a href="api/queue/depth">depth</a>
  <a href="https://example.org/">elsewhere</a> <img src="samples/a.png" alt=""></p>
</body>
</html>
"""

ENGLISH = """
title = "Three workers"
description = 'Bigger & "faster"'
heading = "One <em>thread</em>"
up = "to the top"
"""

STRINGS = """
[busy]
de = "{count} warten"
en = "{count} waiting"
"""


@pytest.fixture
def clone(tmp_path: Path) -> Place:
    """Return a clone with a page in two languages, and the packages of this repository."""
    write(tmp_path / "index.html", INDEX)
    write(tmp_path / "worker.js", 'import "./page/main.js";\n')
    write(tmp_path / "page" / "main.js", f"// {'long enough to be compressed ' * 60}\n")
    write(tmp_path / "page" / "style.css", "body { margin: 0 }\n")
    write(tmp_path / "page" / "favicon.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>\n")
    write(tmp_path / "page" / "text" / "en.toml", ENGLISH)
    write(tmp_path / "page" / "text" / "strings.toml", STRINGS)
    (tmp_path / ".venv").symlink_to(HERE.venv)
    return Place(tmp_path)


def write(path: Path, text: str) -> None:
    """Write a text, making the folders on the way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
