"""The steps that prepare a clone. Standard library only: they run before any package exists."""
