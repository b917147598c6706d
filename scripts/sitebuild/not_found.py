"""The page for what is not there."""

from __future__ import annotations

from sitebuild.markup import escaped

_PAGE = """<!DOCTYPE html>
<html lang="de">
<head>
  <meta charset="utf-8">
  <title>Nicht gefunden · Not found</title>
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="robots" content="noindex">
  <link rel="icon" href="{base}favicon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="{base}{assets}page/style.css">
</head>
<body>
  <main>
    <h1>Hier ist nichts <span lang="en">· There is nothing here</span></h1>
    <p>Diese Adresse gehört zu keiner Seite. <a href="{base}">Zur Startseite</a></p>
    <p lang="en">No page has this address. <a href="{base}en/">To the start page</a></p>
  </main>
</body>
</html>
"""


def not_found(base: str, assets: str) -> str:
    """Return the page in both languages.

    A server shows it at any path, so it alone must know the path of the site: `base` begins and
    ends with a slash.
    """
    return _PAGE.format(base=escaped(base), assets=escaped(assets))
