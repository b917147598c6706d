"""Exit codes that mean more than "it worked" and "it did not"."""

STILL_DUE = 3
"""Time ran out before all was done."""

BUSY = 4
"""Somebody else does it already."""
