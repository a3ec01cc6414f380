"""The release of this dyntree, which files and reports name."""

RELEASE = "0.1.0.dev0"  # as in pyproject.toml
