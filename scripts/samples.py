"""Paint the page's sample pictures into a folder: ``python scripts/samples.py OUTDIR``.

Each picture comes with a small one for the choice, and ``samples.json`` lists them: file, thumb,
width, height, bytes, and the key of the words that describe it. The same script gives the same
bytes. Two are JPEGs with subsampled chroma, as cameras write them, whose numbers differ a little
between decoders; a JPEG with full chroma and a WebP give equal numbers everywhere.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paint.autumn import autumn
from paint.dusk import dusk
from paint.harbour import harbour
from paint.lake import lake

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL import Image

_THUMB_WIDTH = 240


@dataclass(frozen=True)
class _Sample:
    """A scene, the file it becomes, and how that is encoded."""

    paint: Callable[[], Image.Image]
    file: str
    encoding: dict[str, Any] = field(default_factory=dict)


_SAMPLES = (
    _Sample(dusk, "dusk.jpg", {"quality": 88, "subsampling": "4:2:0", "progressive": True}),
    _Sample(autumn, "autumn.jpg", {"quality": 87, "subsampling": "4:2:0", "progressive": True}),
    _Sample(harbour, "harbour.webp", {"quality": 91, "method": 6}),
    _Sample(lake, "lake.jpg", {"quality": 85, "subsampling": "4:4:4", "progressive": True}),
)


def write_samples(folder: Path) -> list[dict[str, object]]:
    """Write all pictures and ``samples.json`` into ``folder``; give what that file lists."""
    folder.mkdir(parents=True, exist_ok=True)
    listed: list[dict[str, object]] = []
    for sample in _SAMPLES:
        picture = sample.paint()
        path = folder / sample.file
        picture.save(path, **sample.encoding)
        thumb = picture.resize((_THUMB_WIDTH, round(_THUMB_WIDTH * picture.height / picture.width)))
        thumb_name = f"{path.stem}-small.webp"
        thumb.save(folder / thumb_name, quality=78, method=6)
        listed.append(
            {
                "file": sample.file,
                "thumb": thumb_name,
                "width": picture.width,
                "height": picture.height,
                "bytes": path.stat().st_size,
                "alt": f"samples.{path.stem}",
            }
        )
    text = json.dumps(listed, indent=2) + "\n"
    (folder / "samples.json").write_text(text, encoding="utf-8")
    return listed


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Paint the page's sample pictures.")
    parser.add_argument("folder", type=Path, help="where to put them")
    for sample in write_samples(parser.parse_args().folder):
        print(f"{sample['file']}: {sample['bytes']:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
