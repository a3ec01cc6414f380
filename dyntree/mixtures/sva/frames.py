"""Task frames: what several views of one movement say together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.sva.model import SmallVarianceMixture


def product_over_frames(
    models: Sequence[SmallVarianceMixture], frames: Sequence[tuple[Any, Any]]
) -> tuple[Matrix, Matrix]:
    """Gaussians in world coordinates that combine those seen from several frames.

    Parameters
    ----------
    models : sequence of OnlineDPGMM, OnlineDPMPPCA or OnlineHDPHSMM
        One a frame, each learned from rows as that frame sees them, with as many
        confirmed clusters as the others and in the same order.
    frames : sequence of (A, b)
        One a model: A of shape (n_out, n_features) and b of shape (n_out,) take a row
        from the frame to the world, as A x + b.

    Returns
    -------
    means : ndarray of shape (n_clusters, n_out)
    covariances : ndarray of shape (n_clusters, n_out, n_out)

    Raises
    ------
    ValueError
        If models and frames do not fit one another, or leave a direction unseen.

    Notes
    -----
    A frame maps Gaussian k to N(A mu_k + b, A Sigma_k A'); the product of these has
    precision P = sum of their precisions P_f, and mean P^-1 sum P_f mu_f.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import OnlineDPGMM, product_over_frames
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = OnlineDPGMM(50.0).update(X)
    >>> still, moved = (np.eye(2), np.zeros(2)), (np.eye(2), np.array([2.0, 0.0]))
    >>> means, _ = product_over_frames([model, model], [still, moved])
    >>> (means - model.clusters().mean).round(6)
    array([[1., 0.]])
    """
    if not len(models) or len(models) != len(frames):
        raise ValueError(
            Message(
                "models and frames must have the same length, at least one; got "
                f"{len(models)} and {len(frames)}."
            )
        )
    precision: Any = 0.0
    weighted: Any = 0.0
    for k, (model, frame) in enumerate(zip(models, frames, strict=True)):
        means, covariances = model.clusters().mean, model.covariances_
        A, b = checked_frame(frame, means.shape[1], k)
        if k and precision.shape != (len(means), len(b), len(b)):
            raise ArgumentError(
                "models",
                "must all have the same number of confirmed clusters, and frames "
                f"the same number of rows; model {k} has {len(means)} and frame {k} "
                f"{len(b)}, the first {precision.shape[0]} and {precision.shape[1]}",
            )
        try:
            seen = np.linalg.inv(A @ covariances @ A.T)
        except np.linalg.LinAlgError as error:
            raise ArgumentError(
                "frames", f"must have A of full row rank; that of frame {k} has not"
            ) from error
        precision = precision + seen
        weighted = weighted + np.einsum("kij,kj->ki", seen, means @ A.T + b)
    together: Matrix = np.linalg.inv(precision)
    return np.einsum("kij,kj->ki", together, weighted), together


def checked_frame(frame: Any, width: int, k: int) -> tuple[Matrix, Matrix]:
    """A and b of a frame, of shapes that fit."""
    try:
        given_A, given_b = frame
    except (TypeError, ValueError):
        raise ArgumentError(
            "frames", f"must be pairs (A, b); frame {k} is none"
        ) from None
    A = params.as_array("frames", given_A, np.float64)
    b = params.as_array("frames", given_b, np.float64)
    if A.ndim != 2 or A.shape[1] != width or b.shape != A.shape[:1]:
        raise ArgumentError(
            "frames",
            "must have A of shape (n_out, {width}) and b of shape (n_out,); those of "
            "frame {k} have shapes {shape} and {shape_2}",
            width=width,
            k=k,
            shape=A.shape,
            shape_2=b.shape,
        )
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise ArgumentError("frames", f"must be finite; frame {k} is not")
    return A, b
