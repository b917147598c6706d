"""What a page says after a form: told by its address, so that a reload does nothing again."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from server.dashboard.words import Words, texts


@dataclass(frozen=True, slots=True)
class GoOn:
    """Where a step over a list goes on."""

    action: str
    cursor: str


def notice_of(request: Request, words: Words) -> str | None:
    """The sentence about what was done; None if the address tells of nothing that we know."""
    query = request.query_params
    action_key = f"action.{query.get('did', '')}"
    if action_key not in texts():
        return None
    action = words.say(action_key)
    said = query.get("said", "ok")
    if "moved" in query:
        return _of_many(
            query.get("looked"), query.get("matched"), query["moved"], action, words
        ) + (
            " " + words.say("did.more" if "on" in query else "did.all") if "looked" in query else ""
        )
    if said in {"ok", "asked", "taken", "notDelivery"}:
        return words.say(f"did.{said}", action=action)
    state = f"state.{said}"
    return words.say("did.not", action=action, state=words.say(state)) if state in texts() else None


def go_on_of(request: Request) -> GoOn | None:
    """Where the step that the address tells of goes on; None if that was all."""
    query = request.query_params
    did, cursor = query.get("did"), query.get("on")
    return GoOn(did, cursor) if did in {"retry", "promote", "cancel", "delete"} and cursor else None


def _of_many(looked: str | None, matched: str | None, moved: str, action: str, words: Words) -> str:
    numbers = [value if value and value.isascii() and value.isdigit() else "0"
               for value in (looked, matched, moved)]  # fmt: skip
    told = [words.whole(int(number[:9])) for number in numbers]
    if looked is None:
        return words.say("did.deliveries", action=action, moved=told[2])
    return words.say("did.many", action=action, looked=told[0], matched=told[1], moved=told[2])
