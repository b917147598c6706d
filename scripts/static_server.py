"""Serve folders as a static host would: the tests and the benchmarks look at the site through it.

    python scripts/static_server.py --port 0 /sub/=site /wheels/=.cache/wheels

It sends precompressed twins, keeps what lies under a hashed path for ever, and sends the headers
without which a page is not cross-origin isolated. It prints its address once it listens. The
product serves the site through the backend; this server knows nothing of it.
"""

from __future__ import annotations

import argparse
import mimetypes
import sys
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
        "img-src 'self' blob: data:; connect-src 'self'; worker-src 'self'; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm"}
HASHED = ("/assets/", "/runtime/")
ENCODINGS = {".br": "br", ".gz": "gzip"}


class Handler(BaseHTTPRequestHandler):
    """Answer GET and HEAD for the files of `mounts`: folders by the path that they stand under."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *args: object, mounts: dict[str, Path]) -> None:
        self.mounts = mounts
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Send the file."""
        self._answer()

    def do_HEAD(self) -> None:
        """Send what GET would send, without the content."""
        self._answer()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
        """Keep quiet: the caller's output is not the place for an access log."""

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        file = self._file(path)
        if file is None:
            self._send(HTTPStatus.NOT_FOUND, {"Content-Type": "text/plain"}, b"")
            return
        headers = {
            "Content-Type": TYPES.get(file.suffix)
            or mimetypes.guess_type(file.name)[0]
            or "application/octet-stream",
            "Cache-Control": "public, max-age=31536000, immutable"
            if any(part in path for part in HASHED)
            else "no-cache",
        }
        for suffix, name in ENCODINGS.items():
            twin = file.with_name(file.name + suffix)
            if name in self.headers.get("Accept-Encoding", "") and twin.exists():
                headers |= {"Content-Encoding": name, "Vary": "Accept-Encoding"}
                file = twin
                break
        self._send(HTTPStatus.OK, headers, file.read_bytes())

    def _file(self, path: str) -> Path | None:
        for prefix, folder in self.mounts.items():
            if path.startswith(prefix):
                file = (folder / path.removeprefix(prefix)).resolve()
                if file.is_dir():
                    file /= "index.html"
                if file.is_file() and file.is_relative_to(folder):
                    return file
        return None

    def _send(self, status: HTTPStatus, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in (HEADERS | headers | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


def main() -> None:
    """Serve until the process is stopped."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    parser.add_argument("mounts", nargs="+", metavar="PREFIX=FOLDER")
    arguments = parser.parse_args()
    mounts = {
        prefix: Path(folder).resolve()
        for prefix, _, folder in (mount.partition("=") for mount in arguments.mounts)
    }
    # The longest prefix first, so that "/" does not hide the others.
    ordered = dict(sorted(mounts.items(), key=lambda mount: -len(mount[0])))
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), partial(Handler, mounts=ordered))
    server.daemon_threads = True
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}/\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
