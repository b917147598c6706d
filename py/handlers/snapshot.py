"""What happens in Python before a memory snapshot is taken and after one is restored.

A snapshot holds memory and no files, so an import that it did not foresee finds nothing in a
restored interpreter. `Absent` makes that visible: it knows every module that the files would hold,
and remembers those that were asked for. Then the files are put in place and the task runs again,
which makes a restored interpreter give what a plainly booted one gives.
"""

import gc
import importlib
import io
import linecache  # noqa: F401 - imported by a warning, whenever there is the first one
import random
import sys
import tracemalloc  # noqa: F401 - the same
import zipfile
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
from PIL import Image

import handlers

__all__ = ["filled", "missed", "prepare", "wake"]


class Absent(MetaPathFinder):
    """Refuses modules whose files are not there yet, and remembers their names."""

    def __init__(self, modules: frozenset[str]) -> None:
        self.modules = modules
        self.missed: list[str] = []

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the signature is importlib's
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Raise ModuleNotFoundError for a module that the files hold; leave others alone."""
        if fullname in self.modules:
            self.missed.append(fullname)
            raise ModuleNotFoundError(f"{fullname} is not in the snapshot", name=fullname)
        return None


_absent = Absent(frozenset())


def prepare(stdlib: str, site: str) -> None:
    """Bring the interpreter into the state that a snapshot keeps.

    Runs the histogram once on each format that Pillow can write here, so that everything which a
    first task would import, fill or specialise is in the snapshot. `stdlib` is the path of the
    zipped standard library, `site` the folder of the packages.
    """
    _warm_up()
    _absent.modules = frozenset(_modules_in(stdlib, site)) - sys.modules.keys()
    sys.meta_path.insert(0, _absent)
    gc.collect()
    gc.freeze()


def wake() -> None:
    """Undo what a restored interpreter must not share with every other one: the random seed."""
    random.seed()


def missed() -> bool:
    """Tell whether an import failed only because the files are not there."""
    return bool(_absent.missed)


def filled() -> None:
    """Trust the files from now on: they have been put in place."""
    _absent.missed.clear()
    if _absent in sys.meta_path:
        sys.meta_path.remove(_absent)
    importlib.invalidate_caches()


def _warm_up() -> None:
    Image.init()
    ramp = np.arange(64 * 48 * 4, dtype=np.uint32).reshape(48, 64, 4).astype(np.uint8)
    picture = Image.fromarray(ramp, "RGBA")
    for method in ("vectorised", "loop"):
        for form, mode in _FORMS:
            encoded = io.BytesIO()
            picture.convert(mode).save(encoded, form)
            handlers.run("histogram", {"image": encoded.getvalue(), "method": method})


_FORMS = (
    ("PNG", "RGBA"),
    ("PNG", "L"),
    ("PNG", "I;16"),
    ("JPEG", "RGB"),
    ("JPEG", "CMYK"),
    ("GIF", "P"),
    ("WEBP", "RGBA"),
    ("BMP", "RGB"),
    ("TIFF", "RGB"),
)


def _modules_in(stdlib: str, site: str) -> list[str]:
    """Give the dotted names of all modules in the archive and under the folder."""
    with zipfile.ZipFile(stdlib) as archive:
        paths = archive.namelist()
    root = Path(site)
    paths += [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    suffixes = (".py", ".pyc", ".so")
    return sorted({_module(path) for path in paths if path.endswith(suffixes)})


def _module(path: str) -> str:
    folders, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    dotted = folders.replace("/", ".")
    if stem == "__init__":
        return dotted
    return f"{dotted}.{stem}" if dotted else stem
