"""The OpenAPI document: what FastAPI knows, and what only this application does."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from server.api import events, queues_events
from server.api.delivery_request import per_channel
from server.channels.storable import JSON, JSON_NAME, JSON_OBJECT
from server.composition import channel_fields
from server.problems import Problem
from server.settings import Settings

REFERENCE = "#/components/schemas/{model}"


def describe(app: FastAPI, settings: Settings) -> None:
    """Makes the document say what problems look like and what each channel takes."""
    original = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schemas = original().setdefault("components", {}).setdefault("schemas", {})
            schema = Problem.model_json_schema(ref_template=REFERENCE)
            schemas |= schema.pop("$defs", {})
            schemas["Problem"] = schema
            for model in (*events.EVENTS, *queues_events.EVENTS):
                schema = model.model_json_schema(ref_template=REFERENCE, mode="serialization")
                for name, part in schema.pop("$defs", {}).items():
                    schemas.setdefault(name, part)
                schemas[model.__name__] = schema
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            schemas[JSON_NAME] = JSON
            schemas[f"{JSON_NAME}Object"] = JSON_OBJECT
            schemas["DeliveryRequest"] = per_channel(
                schemas["DeliveryRequest"], channel_fields(settings)
            )
        return original()

    app.openapi = openapi  # type: ignore[method-assign]
