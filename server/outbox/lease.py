"""What a worker holds and until when, shared between its event loop and its lease keeper."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from .model import Delivery


class Leases:
    """The deliveries that are held, and the moment until which each is surely held.

    Leases are timed from before the statement was sent, on this machine's steady clock, so that
    one never seems to last longer than it does in the database. Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[int, tuple[Delivery, float]] = {}

    def hold(self, deliveries: Iterable[Delivery], ends: float) -> None:
        """Takes deliveries in, held until `ends`."""
        with self._lock:
            self._held |= {delivery.id: (delivery, ends) for delivery in deliveries}

    def drop(self, deliveries: Iterable[Delivery]) -> None:
        """Forgets deliveries that are settled, handed back or given up."""
        with self._lock:
            for delivery in deliveries:
                self._held.pop(delivery.id, None)

    def held(self) -> list[Delivery]:
        """Everything that is held at this moment."""
        with self._lock:
            return [delivery for delivery, _ in self._held.values()]

    def ends(self, delivery: Delivery) -> float | None:
        """Until when a delivery is held; None if it is not held, or was lost."""
        with self._lock:
            entry = self._held.get(delivery.id)
        return None if entry is None else entry[1]

    def first_end(self) -> float | None:
        """The earliest end among all that is held; None if nothing is."""
        with self._lock:
            return min((ends for _, ends in self._held.values()), default=None)

    def renewed(self, asked: Sequence[Delivery], kept: set[int], ends: float) -> set[int]:
        """Notes the answer to an extension of `asked`; returns the ids of those that are lost.

        What was dropped while the extension ran is neither renewed nor lost.
        """
        with self._lock:
            lost = set()
            for delivery in asked:
                if delivery.id not in self._held:
                    continue
                if delivery.id in kept:
                    self._held[delivery.id] = (delivery, ends)
                else:
                    del self._held[delivery.id]
                    lost.add(delivery.id)
            return lost
