"""Between a job's payload or result and bytes."""

from __future__ import annotations

import json
from typing import Any, Protocol


class Codec(Protocol):
    """How payloads and results are written. Another one may be given to Queue and Worker."""

    def encode(self, value: Any) -> bytes:
        """Raise TypeError or ValueError for what it cannot write."""

    def decode(self, written: bytes) -> Any:
        """Return what `encode` was given."""


class JsonCodec:
    """JSON: readable by everybody, and safe to read from anybody."""

    def encode(self, value: Any) -> bytes:
        """Raise TypeError for what JSON does not have, ValueError for NaN and what holds itself."""
        return json.dumps(
            value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()

    def decode(self, written: bytes) -> Any:
        """Return what was encoded; tuples come back as lists."""
        return json.loads(written) if written else None
