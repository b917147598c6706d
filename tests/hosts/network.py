"""Hosts in a network of their own: Linux network namespaces, each wired to a hub.

Every host has two wires to the hub, so that one can be pulled without the other: `database`
(10.1.x.0/30) and `world` (10.2.x.0/30). The hub is .1 of each, the host .2.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
NAMESPACES = Path("/run/netns")
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
WIRES = {"database": 1, "world": 2}


class NotAllowedError(Exception):
    """The machine gives no network namespaces; the message says why."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host of the network: its namespace, and what it calls the hub by."""

    number: int
    namespace: str

    def hub(self, wire: str) -> str:
        """The hub's address at the other end of a wire."""
        return f"10.{WIRES[wire]}.{self.number}.1"

    def command(self, *command: str) -> list[str]:
        """The command, to be run on this host."""
        return ["ip", "netns", "exec", self.namespace, *command]


class Network:
    """A hub and its hosts. Nothing of it is seen outside of its namespaces."""

    def __init__(self, name: str, hosts: int) -> None:
        self.hub = f"{name}-hub"
        self.hosts = [Host(number, f"{name}-{number}") for number in range(hosts)]

    def pull(self, host: Host, *wires: str) -> None:
        """Pulls wires out: what is sent over them is lost, and no connection is closed."""
        for wire in wires:
            _ip("-n", self.hub, "link", "set", _end(wire, host), "down")

    def plug(self, host: Host, *wires: str) -> None:
        """Plugs wires in again."""
        for wire in wires:
            _ip("-n", self.hub, "link", "set", _end(wire, host), "up")

    def at_hub(self, act: Callable[[], T]) -> T:
        """What `act` returns if it is run at the hub: sockets and processes it makes stay there."""

        def enter() -> T:
            with (NAMESPACES / self.hub).open() as namespace:
                if LIBC.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    number = ctypes.get_errno()
                    raise OSError(number, os.strerror(number))
            return act()

        # It is a thread that enters a namespace; this one ends with what it did there.
        with ThreadPoolExecutor(max_workers=1) as threads:
            return threads.submit(enter).result()


@contextlib.contextmanager
def network(hosts: int) -> Iterator[Network]:
    """Lends a network, and takes it away again. Raises NotAllowedError if there cannot be one."""
    if shutil.which("ip") is None:
        raise NotAllowedError("there is no program 'ip' (Debian: apt install iproute2)")
    made = Network(f"workers-{os.getpid()}", hosts)
    with contextlib.ExitStack() as stack:
        for name in (made.hub, *(host.namespace for host in made.hosts)):
            try:
                _ip("netns", "add", name)
            except subprocess.CalledProcessError as error:
                raise NotAllowedError(
                    f"no network namespaces here: {error.stderr.strip()}"
                ) from None
            stack.callback(_ip, "netns", "delete", name)
            _ip("-n", name, "link", "set", "lo", "up")
        for host in made.hosts:
            for wire, net in WIRES.items():
                near = _end(wire, host)
                far = ("peer", "name", wire, "netns", host.namespace)
                _ip("-n", made.hub, "link", "add", near, "type", "veth", *far)
                _ip("-n", made.hub, "address", "add", f"10.{net}.{host.number}.1/30", "dev", near)
                _ip("-n", made.hub, "link", "set", near, "up")
                inside = ("-n", host.namespace)
                _ip(*inside, "address", "add", f"10.{net}.{host.number}.2/30", "dev", wire)
                _ip(*inside, "link", "set", wire, "up")
        yield made


def _end(wire: str, host: Host) -> str:
    """The hub's end of a wire."""
    return f"{wire}-{host.number}"


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)  # noqa: S607
