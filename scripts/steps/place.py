"""Where things lie in a clone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """The folders of one clone. All paths are absolute if `root` is."""

    root: Path

    @property
    def venv(self) -> Path:
        """The virtual environment."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """The virtual environment's interpreter."""
        return self.venv / "bin" / "python"

    @property
    def cache(self) -> Path:
        """Everything that was fetched or made and can be fetched or made again."""
        return self.root / ".cache"

    @property
    def temporary(self) -> Path:
        """Unfinished things, on the same file system as the finished ones."""
        return self.cache / "tmp"

    @property
    def node_modules(self) -> Path:
        """The packages that npm delivers."""
        return self.root / "node_modules"

    @property
    def pyodide(self) -> Path:
        """Pyodide as npm delivers it."""
        return self.node_modules / "pyodide"

    @property
    def site(self) -> Path:
        """The built site."""
        return self.root / "site"


HERE = Place(Path(__file__).resolve().parents[2])
