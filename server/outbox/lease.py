"""What a worker holds and until when, shared between its event loop and its lease keeper."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from .model import Delivery, Settlement


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

    def drop(self, gone: Iterable[Delivery | Settlement]) -> None:
        """Forgets deliveries that are settled, handed back or given up, under these attempts."""
        with self._lock:
            for one in gone:
                entry = self._held.get(one.id)
                if entry is not None and entry[0].attempt == one.attempt:
                    del self._held[one.id]

    def held(self) -> list[Delivery]:
        """Everything that is held at this moment."""
        with self._lock:
            return [delivery for delivery, _ in self._held.values()]

    def ends(self, delivery: Delivery) -> float | None:
        """Until when a delivery is held under its attempt; None if it is not held, or was lost."""
        entry = self._held.get(delivery.id)
        return None if entry is None or entry[0].attempt != delivery.attempt else entry[1]

    def first_end(self) -> float | None:
        """The earliest end among all that is held; None if nothing is."""
        with self._lock:
            return min((ends for _, ends in self._held.values()), default=None)

    def renewed(self, asked: Sequence[Delivery], kept: set[int], ends: float) -> list[Delivery]:
        """Notes the answer to an extension of `asked`; returns those that are lost.

        What was dropped while the extension ran is neither renewed nor lost.
        """
        with self._lock:
            lost = []
            for delivery in asked:
                entry = self._held.get(delivery.id)
                if entry is None or entry[0].attempt != delivery.attempt:
                    continue
                if delivery.id in kept:
                    self._held[delivery.id] = (delivery, ends)
                else:
                    del self._held[delivery.id]
                    lost.append(delivery)
            return lost
