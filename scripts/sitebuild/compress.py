"""Compressed twins beside the files of the site.

Brotli takes its time, so a twin is made once for each content and kept in the cache.
"""

from __future__ import annotations

import gzip
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import brotli

from steps.stamp import files_under, sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Compressed already: a second time wins nothing.
_PACKED = frozenset(
    [
        ".whl",
        ".zip",
        ".png",
        ".jpg",
        ".jpeg",
        ".webp",
        ".gif",
        ".avif",
        ".heic",
        ".woff2",
        ".br",
        ".gz",
    ]
)
_SMALLEST = 1024
# How hard to try, by size: at the best level the interpreter (10 MB) takes a minute for another
# tenth, and the memory snapshot, made anew with each change of the handlers, longer still.
_LEVELS = ((4_000_000, 11, 9), (12_000_000, 9, 9))
_LEVELS_ABOVE = (6, 6)
_WORTHWHILE = 0.95


def compress_folder(folder: Path, cache: Path) -> None:
    """Put `.br` and `.gz` beside each file over 1 kB that they make at least 5 % smaller."""
    cache.mkdir(parents=True, exist_ok=True)
    candidates = [
        path
        for path in files_under(folder)
        if path.suffix not in _PACKED and path.stat().st_size > _SMALLEST
    ]
    candidates.sort(key=lambda path: -path.stat().st_size)
    # The compressors let go of the interpreter's lock, so threads use every core.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [
            pool.submit(_twin, path, cache, suffix, packer)
            for path in candidates
            for suffix, packer in ((".br", _brotli), (".gz", _gzip))
        ]:
            done.result()


def _twin(path: Path, cache: Path, suffix: str, packer: Callable[[bytes], bytes]) -> None:
    kept = cache / f"{sha256_of(path)}{suffix}"
    if not kept.exists():
        unfinished = kept.with_name(f"{kept.name}.{os.getpid()}.{path.name}")
        unfinished.write_bytes(packer(path.read_bytes()))
        unfinished.replace(kept)
    if kept.stat().st_size <= path.stat().st_size * _WORTHWHILE:
        shutil.copyfile(kept, path.with_name(path.name + suffix))


def _levels(content: bytes) -> tuple[int, int]:
    """Return the levels of Brotli and of gzip for a file of this size."""
    for largest, brotli_level, gzip_level in _LEVELS:
        if len(content) <= largest:
            return brotli_level, gzip_level
    return _LEVELS_ABOVE


def _brotli(content: bytes) -> bytes:
    packed: bytes = brotli.compress(content, quality=_levels(content)[0], lgwin=24)
    return packed


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=_levels(content)[1], mtime=0)
