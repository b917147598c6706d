"""Which recipients a webhook can have: URLs, judged by how they are written. Pure.

Where a name leads is judged at the send, when it is resolved; here an address is refused that
stands in the URL itself, in whichever of the ways that the resolver would understand.
"""

from __future__ import annotations

import re
import socket
from ipaddress import IPv4Address, IPv6Address

from server.channels.addresses import Address, why_refused

LAST_PORT = 65535

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_REST = r"[A-Za-z0-9\-._~!$&'()*+,;=:@%/?\[\]]*"
"""What may follow the host; other letters are written in their %-form."""

_URL = re.compile(
    r"(?P<scheme>[A-Za-z]+)://(?:(?P<user>[^/?#]*)@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^/?#:@\[\]]+)"
    rf"(?::(?P<port>[0-9]{{0,5}}))?(?:[/?]{_REST})?(?P<fragment>#.*)?"
)
# A last label that is a number makes the whole host an address, or nothing.
_HOST = rf"(?:{_LABEL}\.)*(?!(?:[0-9]+|0[Xx][0-9A-Fa-f]*)(?:[.:/?]|$)){_LABEL}\.?"
_NAME = re.compile(rf"(?!.{{254}}){_HOST}")
_NUMBERS = re.compile(r"[0-9A-Fa-fXx.]+")

# The same for the OpenAPI document: what is taken where neither permission is given.
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_INNER = (
    r"(?:0|10|127|22[4-9]|2[3-5][0-9])\.|100\.(?:6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7])\."
    r"|168\.63\.129\.16(?![0-9])|169\.254\.|172\.(?:1[6-9]|2[0-9]|3[01])\."
    r"|192\.(?:0\.[02]|31\.196|52\.193|88\.99|168|175\.48)\.|198\.(?:1[89]|51\.100)\.|203\.0\.113\."
)
_PUBLIC = rf"(?!{_INNER}){_OCTET}(?:\.{_OCTET}){{3}}"
_PORT = r"(?:6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})"


def pattern(*, allow_http: bool) -> str:
    """A regular expression in ECMA's form for what is taken where no private address is.

    Addresses in IPv6 are taken too and are not in it.
    """
    host = rf"(?:{_HOST}|{_PUBLIC})"
    scheme = "https?" if allow_http else "https"
    return rf"^{scheme}://(?![^/:?]{{254}}){host}(?::{_PORT})?(?:[/?]{_REST})?$"


def why_no_endpoint(recipient: str) -> str | None:
    """Why no webhook can go to this, whatever is allowed; None if one can."""
    parts = _URL.fullmatch(recipient)
    if parts is None or parts["scheme"].lower() not in {"https", "http"}:
        return (
            "must be a URL such as https://hooks.example.org/path, in plain ASCII: a name in its "
            "xn-- form, other letters in their %-form"
        )
    if parts["user"] is not None:
        return "must hold no user and password: webhooks are signed instead"
    if parts["fragment"] is not None:
        return "must hold no fragment: it would not be sent"
    if parts["port"] is not None and not 0 < int(parts["port"] or 0) <= LAST_PORT:
        return f"must hold a port from 1 to {LAST_PORT}, or none"
    if not _NAME.fullmatch(parts["host"]) and _literal(parts["host"]) is None:
        return f"must hold a host name or an address; {parts['host']} is neither"
    return None


def why_not_allowed(recipient: str, *, allow_private: bool, allow_http: bool) -> str | None:
    """Why no webhook may go to this endpoint, as far as its URL tells; None if one may."""
    parts = _URL.fullmatch(recipient)
    if parts is None:
        return None
    if parts["scheme"].lower() != "https" and not allow_http:
        return "must begin with https: nothing else is used"
    if allow_private:
        return None
    host = parts["host"]
    if host.lower().removesuffix(".").rpartition(".")[2] == "localhost":
        return "must lead to a public address; localhost never does"
    address = _literal(host)
    reason = None if address is None else why_refused(address)
    return None if reason is None else f"must lead to a public address; {address} is {reason}"


def _literal(host: str) -> Address | None:
    """The address that a host is, in any form in which resolvers take one; None if it is a name."""
    if host.startswith("["):
        try:
            return IPv6Address(host[1:-1])
        except ValueError:
            return None
    if not _NUMBERS.fullmatch(host):
        return None
    try:
        return IPv4Address(socket.inet_aton(host.removesuffix(".")))
    except OSError:
        return None
