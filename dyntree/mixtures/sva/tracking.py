"""A linear-quadratic tracker: the cheapest movement along a path of Gaussians."""

from __future__ import annotations

import numpy as np

from dyntree.encoding.values import Matrix, Vector


def tracked(
    target: Matrix, precision: Matrix, start: Vector, cost: Matrix
) -> tuple[Matrix, Matrix, Matrix]:
    """States, commands and gains of the movement that costs least.

    The state is position and velocity, and a command u is an acceleration for one step:
    x' = x + v + u / 2 and v' = v + u. The movement minimises the sum over steps of
    (x - target)' P (x - target) + u'Ru, with R = cost. The value of a state s is
    s'Ss - 2 r's, where backwards in time, with K = (R + G'SG)^-1 G'SF,

        S <- Q + F'S(F - GK),   r <- Q target + (F - GK)'r,

    and u = (R + G'SG)^-1 G'r - K s: the Riccati recursion for a finite horizon, as the
    controller of Tanwani and Calinon (2016) uses it.

    Parameters
    ----------
    target : ndarray of shape (n_steps, width)
    precision : ndarray of shape (n_steps, width, width)
    start : ndarray of shape (width,)
        Where the movement begins, at rest.
    cost : ndarray of shape (width, width)
        Symmetric, with positive eigenvalues.

    Returns
    -------
    states : ndarray of shape (n_steps, 2 * width)
    commands : ndarray of shape (n_steps - 1, width)
    gains : ndarray of shape (n_steps - 1, width, 2 * width)
        K of each step.
    """
    n_steps, width = target.shape
    unit, nothing = np.eye(width), np.zeros((width, width))
    F = np.block([[unit, unit], [nothing, unit]])
    G = np.vstack([0.5 * unit, unit])
    Q = np.zeros((n_steps, 2 * width, 2 * width))
    Q[:, :width, :width] = precision
    pull = np.zeros((n_steps, 2 * width))
    pull[:, :width] = np.einsum("nij,nj->ni", precision, target)
    gains = np.empty((n_steps - 1, width, 2 * width))
    pushes = np.empty((n_steps - 1, width))
    S, r = Q[-1], pull[-1]
    for t in range(n_steps - 2, -1, -1):
        inner = cost + G.T @ S @ G
        gains[t] = np.linalg.solve(inner, G.T @ S @ F)
        pushes[t] = np.linalg.solve(inner, G.T @ r)
        closed = F - G @ gains[t]
        r = pull[t] + closed.T @ r
        S = Q[t] + F.T @ S @ closed
        S = 0.5 * (S + S.T)
    states = np.empty((n_steps, 2 * width))
    states[0] = np.concatenate([start, np.zeros(width)])
    commands = np.empty_like(pushes)
    for t, push in enumerate(pushes):
        commands[t] = push - gains[t] @ states[t]
        states[t + 1] = F @ states[t] + G @ commands[t]
    return states, commands, gains
