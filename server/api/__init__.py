"""HTTP: one module a resource, no logic."""
