"""A Valkey Cluster on this machine's loopback: three nodes that share the slots, and a replica."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from redis import Redis
from redis.asyncio import RedisCluster
from redis.exceptions import RedisError

from tests.redisq.servers import Server

SLOTS = 16_384
PATIENCE_S = 60.0
OPTIONS = (
    *("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"),
    # Nobody is taken for dead because the machine is slow; the tests say who takes over.
    *("--cluster-node-timeout", "300000", "--cluster-require-full-coverage", "no"),
    *("--repl-diskless-sync-delay", "0", "--bind", "127.0.0.1"),
)


class Node(Server):
    """A server of the cluster."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as first, socket.socket() as second:
            for probe in (first, second):
                probe.bind(("127.0.0.1", 0))
            self.port, bus = (int(probe.getsockname()[1]) for probe in (first, second))
        self.bus = bus
        ports = ("--port", str(self.port), "--cluster-port", str(bus))
        super().__init__("valkey", folder, *ports, *OPTIONS)

    def command(self, *words: str | int) -> Any:
        """Return what it answers to that."""
        with Redis(unix_socket_path=self.socket, decode_responses=True) as client:
            return client.execute_command(*words)

    def id(self) -> str:
        """Its name among the nodes."""
        return str(self.command("CLUSTER", "MYID"))


class Cluster:
    """Nodes by number: 0 to 2 have a third of the slots each, 3 follows 0."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = list(nodes)

    def client(self) -> RedisCluster:
        """A client that finds out who has what."""
        # By way of one that no test ends.
        return RedisCluster(host="127.0.0.1", port=self.nodes[1].port)

    def form(self) -> None:
        """Let the nodes meet and share the slots."""
        first, *others = self.nodes
        for node in others:
            node.command("CLUSTER", "MEET", "127.0.0.1", first.port, first.bus)
        for number, node in enumerate(self.nodes[:3]):
            begin, end = SLOTS * number // 3, SLOTS * (number + 1) // 3 - 1
            node.command("CLUSTER", "ADDSLOTSRANGE", begin, end)
        until(lambda: all(self._knows_all(node) for node in self.nodes))
        self.nodes[3].command("CLUSTER", "REPLICATE", first.id())
        until(lambda: "master_link_status:up" in _info(self.nodes[3]))

    def owner(self, key: str) -> Node:
        """The node that has this key's slot."""
        slot = int(self.nodes[1].command("CLUSTER", "KEYSLOT", key))
        for begin, end, (_, port, *_), *_ in self.nodes[1].command("CLUSTER", "SLOTS"):
            if begin <= slot <= end:
                return next(node for node in self.nodes if node.port == port)
        raise LookupError(key)

    def _knows_all(self, node: Node) -> bool:
        said = node.command("CLUSTER", "INFO")
        said = said if isinstance(said, str) else "\n".join(f"{k}:{v}" for k, v in said.items())
        return all(
            f"{name}:{value}" in said
            for name, value in (
                ("cluster_state", "ok"),
                ("cluster_slots_assigned", SLOTS),
                ("cluster_known_nodes", len(self.nodes)),
            )
        )


def _info(node: Node) -> str:
    said = node.command("INFO", "replication")
    return said if isinstance(said, str) else "\n".join(f"{k}:{v}" for k, v in said.items())


def until(holds: Callable[[], bool]) -> None:
    """Return once that holds; nodes tell each other, and nobody else."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with contextlib.suppress(RedisError):
            if holds():
                return
        assert time.monotonic() < deadline, "the cluster does not come to it"
        time.sleep(0.02)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Lend a cluster."""
    nodes = []
    for number in range(4):
        place = folder / f"n{number}"
        place.mkdir()
        nodes.append(Node(place))
    try:
        for node in nodes:
            node.start()
        made = Cluster(nodes)
        made.form()
        yield made
    finally:
        for node in nodes:
            if node.process and node.process.poll() is None:
                node.kill()
