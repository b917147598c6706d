"""The certificates that this server trusts when it connects somewhere."""

from __future__ import annotations

import ssl

import httpx


def client_context() -> ssl.SSLContext:
    """Checks certificates and names against httpx's list, or SSL_CERT_FILE if that is set."""
    return httpx.create_ssl_context()
