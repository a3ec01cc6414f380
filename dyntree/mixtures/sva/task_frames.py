"""Task frames: rows as each frame sees them, and Gaussians of frames as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError, Message

MOST_SKEW = 1e8  # condition number of a frame's axes
MOST_SIZE = 1e100  # of an axis or an origin, and one over the least of an axis
Frames = list[tuple[Matrix, Matrix]]


def checked_frames(frames: Any, n_frames: int, width: int) -> Frames:
    """Axes and origin of each frame, as arrays that fit rows of so many columns."""
    try:
        pairs = [tuple(pair) for pair in frames]
    except TypeError:
        pairs = []
    if len(pairs) != n_frames or any(len(pair) != 2 for pair in pairs):
        raise ArgumentError(
            "frames",
            f"must be {n_frames} pairs (A, b), one for each frame",
            Message("{frames!r}", frames=frames),
        )
    return [checked_frame(A, b, width, k) for k, (A, b) in enumerate(pairs)]


def checked_frame(A: Any, b: Any, width: int, place: int) -> tuple[Matrix, Matrix]:
    """Axes and origin of one frame."""
    axes = params.as_array("frames", A, np.float64)
    origin = params.as_array("frames", b, np.float64)
    if axes.shape != (width, width) or origin.shape != (width,):
        raise ArgumentError(
            "frames",
            f"must have A of shape ({width}, {width}) and b of shape ({width},)",
            Message(
                "shapes {axes} and {origin} in frame {place}",
                axes=axes.shape,
                origin=origin.shape,
                place=place,
            ),
        )
    if not (np.isfinite(axes).all() and np.isfinite(origin).all()):
        raise ArgumentError("frames", f"must be finite; frame {place} is not")
    size = np.abs(axes).max()
    if not (1.0 / MOST_SIZE <= size <= MOST_SIZE and np.abs(origin).max() <= MOST_SIZE):
        raise ArgumentError(
            "frames",
            f"must have axes of a size from {1.0 / MOST_SIZE:g} to {MOST_SIZE:g} and "
            f"origins up to that; those of frame {place} have not",
            remedy="Rescale rows and frames.",
        )
    if not np.linalg.cond(axes / size) < MOST_SKEW:
        raise ArgumentError(
            "frames",
            f"must have A that can be inverted; that of frame {place} has not",
        )
    return axes, origin


def seen_from(frames: Frames, rows: Matrix) -> Matrix:
    """Rows as each frame sees them, side by side: A^-1 (x - b)."""
    return np.hstack([np.linalg.solve(A, (rows - b).T).T for A, b in frames])


def product(
    frames: Frames, means: Sequence[Matrix], covariances: Sequence[Matrix]
) -> tuple[Matrix, Matrix]:
    """Means and covariances in the world of Gaussians that each frame sees.

    Frame f maps N(m, S) to N(A m + b, A S A'). The product of these densities has
    precision P = sum of their precisions P_f, and mean P^-1 sum P_f m_f (Calinon 2016).

    Parameters
    ----------
    frames : list of (A, b)
    means : sequence of ndarray of shape (n, width)
        One a frame.
    covariances : sequence of ndarray of shape (n, width, width)
    """
    precision, weighted = np.zeros_like(covariances[0]), np.zeros_like(means[0])
    for (A, b), mean, covariance in zip(frames, means, covariances, strict=True):
        its = np.linalg.inv(A @ covariance @ A.T)
        precision += its
        weighted += np.einsum("nij,nj->ni", its, mean @ A.T + b)
    together: Any = np.linalg.inv(precision)
    return np.einsum("nij,nj->ni", together, weighted), together
