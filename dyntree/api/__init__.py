"""Faces of dyntree: each module here speaks one community's language."""
