"""What models of trees say of themselves at a prompt or in a log."""

from __future__ import annotations

from typing import Any


def cloud_sizes(model: Any) -> str:
    """Particles of a model, "1000"; of several clouds "10 clouds of 1000"."""
    n_particles, members = model.options.n_particles, getattr(model, "members", None)
    return f"{len(members)} clouds of {n_particles}" if members else str(n_particles)


class Named:
    """A model whose repr tells its leaves, its particles and how much it learned."""

    unit = "row"

    def __repr__(self) -> str:
        model: Any = self
        return (
            f"<{type(self).__name__} {model.tree.options.model!r}: "
            f"{cloud_sizes(model.tree)} particles, {model.n_seen} rows learned>"
        )
