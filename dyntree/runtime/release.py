"""The release of this dyntree, which files and reports name."""

RELEASE = "1.0.0"  # as in pyproject.toml
