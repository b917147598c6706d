"""What a heap snapshot of V8 says about bytes: whose they are, and which are V8's own."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

COMPILED = "code"
"""The node type that V8 gives what it makes of functions: their shared information and scopes,
bytecode, machine code, and the feedback that it collects while they run."""


@dataclass(frozen=True)
class Sizes:
    """Bytes of the objects themselves (what they hold is counted where it is)."""

    by_type: Counter[str]
    """Bytes by node type, without compiled code."""
    compiled: Counter[str]
    """Bytes of compiled code, by what it is."""

    @property
    def kept(self) -> int:
        """Bytes of everything that is not compiled code: what a leak would be in."""
        return self.by_type.total()


def sizes(snapshot: str) -> Sizes:
    """Add up the nodes of a snapshot as the DevTools protocol sends it.

    Raises KeyError or ValueError if it is no such snapshot.
    """
    parsed = json.loads(snapshot)
    meta = parsed["snapshot"]["meta"]
    fields = meta["node_fields"]
    types = meta["node_types"][fields.index("type")]
    at_type, at_name, at_size = (fields.index(name) for name in ("type", "name", "self_size"))
    nodes, strings, width = parsed["nodes"], parsed["strings"], len(fields)
    by_type: Counter[str] = Counter()
    compiled: Counter[str] = Counter()
    for start in range(0, len(nodes), width):
        kind, size = types[nodes[start + at_type]], nodes[start + at_size]
        if kind == COMPILED:
            compiled[_what(strings[nodes[start + at_name]])] += size
        else:
            by_type[kind] += size
    return Sizes(by_type, compiled)


def _what(name: str) -> str:
    """Give what compiled code is; what belongs to one function bears its name instead."""
    known = name.startswith(("system / ", "("))
    return name.removeprefix("system / ").strip("()") if known else "of one function"
