"""A delivery as a mail: addresses, headers and bytes. Pure, and the same bytes every time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from server.channels.identity import stable_id
from server.channels.storable import Storable
from server.outbox import Delivery

MOST_RECIPIENTS = 50

_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# `=?` begins what a header would be decoded from, line breaks included.
_BARE = rf"(?![^,]{{255}})(?![^@]{{65}})(?![^@]*=\?){_LOCAL}@{_LABEL}(?:\.{_LABEL})*"
_ADDRESS = re.compile(_BARE)
_ONE_LINE = r"^[^\x00-\x1f\x7f\x85\u2028\u2029]*$"
_FOLDABLE = re.compile(r"[!-~]{1,60}(?: [!-~]{1,60})*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")

RECIPIENT = rf"^ *{_BARE} *(?:, *{_BARE} *){{0,{MOST_RECIPIENTS - 1}}}$"
"""One address or several, as a regular expression of ECMA's."""


def address_of(text: str) -> str:
    """A bare address such as `ada@example.org`. Raises ValueError, which says why it is none.

    Plain ASCII only, since not every server takes other letters: a domain that has some is
    written in its xn-- form.
    """
    address = text.strip(" ")
    if not _ADDRESS.fullmatch(address):
        raise ValueError(f"{address!r} is no address such as ada@example.org")
    return address


def addresses_of(recipient: str) -> list[str]:
    """The addresses of a recipient, separated by commas, each once, in order.

    Raises ValueError, which says which of them is none, or that there are too many.
    """
    addresses = list(map(address_of, recipient.split(",")))
    if len(addresses) > MOST_RECIPIENTS:
        raise ValueError(f"has {len(addresses)} addresses, the most are {MOST_RECIPIENTS}")
    return list(dict.fromkeys(addresses))


def sender_of(text: str) -> tuple[str, str]:
    """The name (may be empty) and address of a sender: `ada@example.org` or `Ada <ada@…>`.

    Raises ValueError if there is no address in it.
    """
    if _CONTROL.search(text):
        raise ValueError("holds a control character")
    if "=?" in text:
        raise ValueError("must be written as it is to be read, not in an encoded form")
    name, address = parseaddr(text)
    return name, address_of(address)


def _one_line(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("must be one line, without control characters")
    return text


class MailPayload(BaseModel):
    """What is mailed. With `html` the mail has both forms, and the reader's program chooses."""

    model_config = ConfigDict(extra="forbid", strict=True)

    subject: Annotated[str, AfterValidator(_one_line)] = Field(
        min_length=1, max_length=300, json_schema_extra={"pattern": _ONE_LINE}
    )
    text: Storable = Field(min_length=1, max_length=200_000)
    html: Storable | None = Field(None, min_length=1, max_length=200_000)
    reply_to: (
        Annotated[
            str, AfterValidator(address_of), Field(json_schema_extra={"pattern": rf"^ *{_BARE} *$"})
        ]
        | None
    ) = None


def message_id(delivery: Delivery, *, sender: str) -> str:
    """The Message-ID, the same over all attempts, so that a receiver can drop what it has."""
    return f"<{stable_id(delivery)}@{sender.rpartition('@')[2]}>"


def message_of(
    delivery: Delivery, payload: MailPayload, *, sender: tuple[str, str], recipients: Sequence[str]
) -> bytes:
    """The mail as it is handed over, with CRLF and in ASCII.

    Nothing in it comes from a clock or from chance: the date is the delivery's, and so is the
    boundary between its forms, which cannot occur in a body in quoted-printable, where `=` is
    always followed by two digits or the end of the line.
    """
    name, address = sender
    message = EmailMessage(policy=SMTP)
    message["From"] = Address(name, addr_spec=address)
    message["To"] = ", ".join(recipients)
    message["Date"] = format_datetime(delivery.created_at)
    message["Message-ID"] = message_id(delivery, sender=address)
    if payload.reply_to is not None:
        message["Reply-To"] = payload.reply_to
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(payload.text, cte="quoted-printable")
    if payload.html is not None:
        message.add_alternative(payload.html, subtype="html", cte="quoted-printable")
        message.set_boundary(f"=_{stable_id(delivery)}")
    return _subject(payload.subject) + message.as_bytes()


def _subject(text: str) -> bytes:
    """The header, folded. It reads as the text says, even if that looks like an encoded word.

    EmailMessage would decode such a word and write out what is in it: a line break with another
    header behind it, for example.
    """
    plain = _FOLDABLE.fullmatch(text) and "=?" not in text
    header = Header(text, "us-ascii" if plain else "utf-8", header_name="Subject")
    folded = header.encode(linesep="\r\n")
    return f"Subject: {folded}\r\n".encode("ascii")
