"""What a reply of an SMTP server means for a delivery. Pure."""

from __future__ import annotations

from enum import Enum


class Stage(Enum):
    """What was asked. Up to the sender nothing depends on the delivery, but for its size."""

    SENDER = "MAIL"
    RECIPIENT = "RCPT"
    CONTENT = "DATA"


class Meaning(Enum):
    """What is done with the delivery."""

    AGAIN = "again"
    FINAL = "final"
    DOWN = "down"


CLOSING = 421
"""The server is about to leave; it may say so at any time."""

TOO_LARGE = 552

WANTS_LOGIN = frozenset({530, 534, 535, 538})
"""It wants a login, or another one. That is between it and us, whatever the delivery."""


def meaning(stage: Stage, code: int) -> Meaning:
    """What a reply other than yes means.

    A 4xx is tried again and a 5xx is final where they answer to the recipient or the content.
    A sender that is refused would be refused for every delivery, and failing them all for good
    would turn a wrong setting into a loss, so then the channel is down.
    """
    if code == CLOSING or code in WANTS_LOGIN:
        return Meaning.DOWN
    if stage is Stage.SENDER:
        return Meaning.FINAL if code == TOO_LARGE else Meaning.DOWN
    match code // 100:
        case 4:
            return Meaning.AGAIN
        case 5:
            return Meaning.FINAL
        case _:
            return Meaning.DOWN
