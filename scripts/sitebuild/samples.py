"""The pictures that come with the page, made by scripts/samples.py."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sitebuild.failure import BuildError
from steps.process import CommandError, run
from steps.stamp import Stamp, files_under, key_of_files

if TYPE_CHECKING:
    from steps.place import Place


def make_samples(place: Place) -> Path | None:
    """Return the folder of the samples, or None if the script that makes them is not there.

    They are made once for each state of the script and of the packages. Raises BuildError.
    """
    script = place.root / "scripts" / "samples.py"
    if not script.exists():
        return None
    folder = place.cache / "samples"
    stamp = Stamp(place.cache / "stamps" / "samples")
    sources = files_under(script, script.parent / "paint", place.root / "requirements.lock")
    key = key_of_files(place.root, sources)
    if stamp.has(key) and folder.exists():
        return folder
    place.temporary.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.temporary) as name:
        made = Path(name) / "samples"
        try:
            run([str(place.python), str(script), str(made)], cwd=place.root)
        except CommandError as error:
            last = next((line for line in reversed(error.lines) if line.strip()), "no word")
            raise BuildError(f"{script.name}: {last}") from error
        if folder.exists():
            folder.rename(Path(name) / "old")
        made.rename(folder)
    stamp.write(key)
    return folder
