"""What went wrong, in one line, read from what a program printed or from an OSError."""

from __future__ import annotations

import errno
import re

from steps.failure import StepError

_DISK = ("No space left on device", "ENOSPC")
_NETWORK = (
    "Name or service not known",
    "Temporary failure in name resolution",
    "Failed to establish a new connection",
    "NewConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "Read timed out",
    "ProxyError",
    "Network is unreachable",
    "Connection refused",
    "ENOTFOUND",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "EAI_AGAIN",
    "Could not resolve",
    "Temporary failure resolving",
)
_SUM = ("DO NOT MATCH THE HASHES", "EINTEGRITY")
_TLS = ("CERTIFICATE_VERIFY_FAILED", "SSLError", "UNABLE_TO_GET_ISSUER_CERT", "SELF_SIGNED_CERT")
_NO_WHEEL = ("No matching distribution found", "Could not find a version that satisfies")

FREE_DISK = "free about 1.5 GB (or move the clone to a larger disk) and run the same command again"


def from_output(lines: list[str], offline: str) -> StepError:
    """Return the failure that a program's output tells of.

    `offline` says how to do without the network.
    """
    text = "\n".join(lines)
    if any(sign in text for sign in _DISK):
        return StepError("no space left on the disk", FREE_DISK)
    if any(sign in text for sign in _SUM):
        return StepError(
            "a file's sum is not the one in the lock file, so it was refused",
            "try again; if it happens again, a mirror or proxy between here and the registry"
            " changes files",
        )
    if any(sign in text for sign in _TLS):
        return StepError(
            "the registry's certificate is not trusted here",
            "behind a proxy with its own certificate, set SSL_CERT_FILE, PIP_CERT and"
            " NODE_EXTRA_CA_CERTS to its file",
        )
    if any(sign in text for sign in _NETWORK):
        return StepError("the network could not be reached", offline)
    if any(sign in text for sign in _NO_WHEEL):
        return StepError(
            _telling_line(lines),
            "this Python or machine may be too new or too rare for the locked versions: name"
            " another Python with make PYTHON=/path/to/python3.12",
        )
    return StepError(
        _telling_line(lines),
        "run the same command again; if it fails"
        " in the same way, the line above says what to look for",
    )


def from_os_error(error: OSError) -> StepError:
    """Return the failure that an error of the operating system tells of."""
    where = f" ({error.filename})" if error.filename else ""
    if error.errno == errno.ENOSPC:
        return StepError(f"no space left on the disk{where}", FREE_DISK)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StepError(
            f"no permission to write here{where}",
            "work in a clone of your own: files that another user made (with sudo?) stay theirs",
        )
    return StepError(f"{error.strerror or error}{where}", "see the cause; then run again")


def _telling_line(lines: list[str]) -> str:
    """Return the line that says most about a failure."""
    filled = [line.strip() for line in lines if line.strip()]
    for line in filled:
        if re.match(r"(?i)(npm )?(error|e)[: ]", line):
            return line
    return filled[-1] if filled else "it said nothing"
