"""Pictures of trees and mixtures, by matplotlib, readable in black and white.

Every function takes a model (or a trace, or an evaluation), draws into the axes `ax` or
into a new figure, and returns the figure; show it in a notebook, or call its
``savefig``. Nothing goes through pyplot, so that no global state changes.
"""

from .canopy import plot_images, plot_sweeps
from .ddp import (
    plot_flow_field,
    plot_lifelines,
    plot_topic_trends,
    plot_trajectories,
    plot_vi,
)
from .dependence import plot_dependence
from .diagnostics import plot_diagnostics
from .effects import plot_effects, plot_importance, plot_relevance, plot_sobol
from .fit import plot_fit, plot_slices
from .memory import plot_memory
from .mixtures import (
    plot_clusters,
    plot_lambda_path,
    plot_segments,
    plot_subspaces,
)
from .movements import plot_movement
from .recorder import Recorder, Trace
from .scores import plot_rolling
from .surface import plot_classes, plot_surface
from .topics import (
    plot_clumps,
    plot_epoch_seconds,
    plot_free_energy,
    plot_memory_by_epoch,
    plot_retrieval,
    plot_segmentation,
    plot_topics_over_documents,
    plot_tradeoff,
)
from .traces import plot_shape, plot_steps
from .tree import plot_tree

__all__ = [
    "Recorder",
    "Trace",
    "plot_classes",
    "plot_clumps",
    "plot_clusters",
    "plot_dependence",
    "plot_diagnostics",
    "plot_effects",
    "plot_epoch_seconds",
    "plot_fit",
    "plot_flow_field",
    "plot_free_energy",
    "plot_images",
    "plot_importance",
    "plot_lambda_path",
    "plot_lifelines",
    "plot_memory",
    "plot_memory_by_epoch",
    "plot_movement",
    "plot_relevance",
    "plot_retrieval",
    "plot_rolling",
    "plot_segmentation",
    "plot_segments",
    "plot_shape",
    "plot_slices",
    "plot_sobol",
    "plot_steps",
    "plot_subspaces",
    "plot_surface",
    "plot_sweeps",
    "plot_topic_trends",
    "plot_topics_over_documents",
    "plot_tradeoff",
    "plot_trajectories",
    "plot_tree",
    "plot_vi",
]
