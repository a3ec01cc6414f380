"""What models of trees say of themselves at a prompt or in a log."""

from __future__ import annotations

from typing import Any


class Named:
    """A model whose repr tells its leaves, its particles and how much it learned."""

    def __repr__(self) -> str:
        model: Any = self
        options, members = model.tree.options, getattr(self, "members", None)
        clouds = f"{len(members)} clouds of " if members else ""
        return (
            f"<{type(self).__name__} {options.model!r}: {clouds}{options.n_particles} "
            f"particles, {model.n_seen} rows learned>"
        )
