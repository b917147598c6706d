"""Text and JSON that PostgreSQL can hold, as types and as a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

WITHOUT_NULL = r"^[^\x00]*$"

Storable = Annotated[str, Field(pattern=WITHOUT_NULL)]
"""Text that PostgreSQL can hold: anything without the null character."""

JSON_NAME = "Json"

JSON: Mapping[str, Any] = {
    "description": "any JSON without the null character in its texts and names",
    "anyOf": [
        {"type": ["number", "boolean", "null"]},
        {"type": "string", "pattern": WITHOUT_NULL},
        {"type": "array", "items": {"$ref": f"#/components/schemas/{JSON_NAME}"}},
        {"$ref": f"#/components/schemas/{JSON_NAME}Object"},
    ],
}
JSON_OBJECT: Mapping[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": WITHOUT_NULL},
    "additionalProperties": {"$ref": f"#/components/schemas/{JSON_NAME}"},
}
"""What the outbox takes as a payload, for the document's `components/schemas`."""

JSON_OBJECT_REF: Mapping[str, Any] = {"$ref": f"#/components/schemas/{JSON_NAME}Object"}
