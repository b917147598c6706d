"""Compressed twins beside the files of the site.

Brotli at its best takes half a minute for the interpreter alone, so a twin is made once for each
content and kept in the cache.
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
# Above this size (the memory snapshot, made anew with each change of the handlers) the last five
# percent would cost most of a minute.
_BEST_UP_TO = 12_000_000
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


def _brotli(content: bytes) -> bytes:
    quality = 11 if len(content) <= _BEST_UP_TO else 6
    packed: bytes = brotli.compress(content, quality=quality, lgwin=24)
    return packed


def _gzip(content: bytes) -> bytes:
    level = 9 if len(content) <= _BEST_UP_TO else 6
    return gzip.compress(content, compresslevel=level, mtime=0)
