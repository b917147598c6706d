"""Text from outside, before a terminal sees it: no escape sequence in it does anything. Pure."""

from __future__ import annotations


def printable(text: str, *, keep: str = "") -> str:
    r"""The text with whatever cannot be seen written out, as `\x1b` or `\u202e`, but for `keep`."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else ascii(one)[1:-1] for one in text)


def printable_json(text: str) -> str:
    r"""The same for a JSON text, which means the same afterwards; its line breaks stay."""
    return "".join(one if one.isprintable() or one == "\n" else _in_json(one) for one in text)


def _in_json(one: str) -> str:
    units = one.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
