"""Superposition, thinning, point transition, merge and split of Dirichlet processes.

The operations that a dependent mixture is built from, on realisations cut to finitely
many atoms: for teaching, and for checking the theory (Lin, Grimson and Fisher 2010,
theorems 2 to 7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.runtime.records import Record

Seed = int | np.random.Generator | None


@dataclass(frozen=True, eq=False, repr=False)
class DirichletDraw(Record):
    """A realisation of a Dirichlet process, as atoms and their weights.

    Attributes
    ----------
    atoms : ndarray of shape (n_atoms, n_columns)
    weights : ndarray of shape (n_atoms,)
        Positive weights, whose sum is one.
    concentration : float
        Total mass of the base measure.

    Examples
    --------
    >>> base = lambda n, rng: rng.normal(size=(n, 1))
    >>> draw = draw_dirichlet_process(2.0, base, seed=1)
    >>> round(float(draw.weights.sum()), 12)
    1.0
    >>> 0.0 <= draw.mass(lambda atoms: atoms[:, 0] > 0) <= 1.0
    True
    """

    atoms: Matrix
    weights: Vector
    concentration: float

    def __post_init__(self) -> None:
        atoms = params.as_array("atoms", self.atoms, np.float64)
        weights = params.as_array("weights", self.weights, np.float64)
        if atoms.ndim != 2 or weights.shape != (len(atoms),) or not len(atoms):
            raise ArgumentError(
                "atoms",
                "must have shape (n_atoms, n_columns), and weights one for each",
                Message(
                    "{shape} and {shape_2}", shape=atoms.shape, shape_2=weights.shape
                ),
            )
        if not np.all(weights > 0.0) or not abs(weights.sum() - 1.0) < 1e-9:
            raise ArgumentError("weights", "must be > 0 with sum 1", weights)
        object.__setattr__(self, "atoms", atoms)
        object.__setattr__(self, "weights", weights)
        params.positive("concentration", self.concentration)

    def mass(self, where: Callable[[Matrix], Any]) -> float:
        """Probability of a set, which is given as a function of the atoms."""
        inside = np.asarray(where(self.atoms), dtype=bool)
        return float(self.weights[inside].sum())


def draw_dirichlet_process(
    concentration: float,
    base: Callable[[int, np.random.Generator], Any],
    n_atoms: int = 500,
    seed: Seed = None,
) -> DirichletDraw:
    """Draw a Dirichlet process by stick breaking (Sethuraman 1994).

    Parameters
    ----------
    concentration : float
        Total mass of the base measure, > 0.
    base : callable
        ``base(n, rng)`` draws n locations, an array of shape (n, n_columns).
    n_atoms : int, default 500
        Number of atoms. The last one gets the rest of the stick, which is about
        (concentration / (1 + concentration))^n_atoms of the whole.
    seed : int or numpy Generator, optional
        Seed of the draws.

    Returns
    -------
    DirichletDraw
    """
    alpha = params.positive("concentration", concentration)
    n, rng = params.count("n_atoms", n_atoms, 1), params.generator(seed)
    log_left = np.log1p(-rng.beta(1.0, alpha, size=n))
    ends = np.exp(np.concatenate([[0.0], np.cumsum(log_left)]))
    weights = -np.diff(ends)
    weights[-1] += ends[-1]
    atoms = params.as_array("base", base(n, rng), np.float64).reshape(n, -1)
    some = weights > 0.0
    return DirichletDraw(atoms[some], weights[some] / weights[some].sum(), alpha)


def check_draw(name: str, draw: Any) -> DirichletDraw:
    """Return a draw."""
    if not isinstance(draw, DirichletDraw):
        raise ArgumentError(name, "must be a DirichletDraw", draw)
    return draw


def superpose(draws: Sequence[DirichletDraw], seed: Seed = None) -> DirichletDraw:
    """Unite independent Dirichlet processes: DP(mu_1 + ... + mu_m).

    D = sum_k c_k D_k, where c ~ Dirichlet(alpha_1, ..., alpha_m) is independent of the
    D_k (theorem 3).

    Parameters
    ----------
    draws : sequence of DirichletDraw
        At least one draw.
    seed : int or numpy Generator, optional
        Seed of the shares.

    Returns
    -------
    DirichletDraw

    Examples
    --------
    >>> base = lambda n, rng: rng.normal(size=(n, 1))
    >>> one, other = (draw_dirichlet_process(a, base, seed=1) for a in (1.0, 0.5))
    >>> superpose([one, other], seed=2).concentration
    1.5
    """
    parts = [check_draw("draws", one) for one in draws]
    if not parts:
        raise ArgumentError(
            "draws", "must hold one DirichletDraw at least", Message("none")
        )
    alpha = np.array([one.concentration for one in parts])
    c = params.generator(seed).gamma(alpha)
    c = np.maximum(c, 1e-300) / np.maximum(c, 1e-300).sum()
    weights = np.concatenate(
        [share * one.weights for share, one in zip(c, parts, strict=True)]
    )
    atoms = np.concatenate([one.atoms for one in parts])
    some = weights > 0.0
    return DirichletDraw(
        atoms[some], weights[some] / weights[some].sum(), float(alpha.sum())
    )


def thin(
    draw: DirichletDraw, keep: float | Callable[[Matrix], Any], seed: Seed = None
) -> DirichletDraw:
    """Keep each atom with a probability and renormalise: DP(q mu).

    Parameters
    ----------
    draw : DirichletDraw
    keep : float or callable
        Probability q in [0, 1], or a function of the atoms that returns one for each.
    seed : int or numpy Generator, optional
        Seed of the choice.

    Returns
    -------
    DirichletDraw
        Its concentration is that of q mu, where mu is estimated by the draw: alpha
        times the mean of q under the draw. For a constant q it is exact
        (theorems 4 and 5).

    Raises
    ------
    ValueError
        If no atom was left.

    Examples
    --------
    >>> base = lambda n, rng: rng.normal(size=(n, 1))
    >>> thin(draw_dirichlet_process(1.0, base, seed=1), 0.5, seed=2).concentration
    0.5
    """
    draw = check_draw("draw", draw)
    given = keep(draw.atoms) if callable(keep) else keep
    q = params.as_array("keep", given, np.float64)
    if q.ndim > 1 or not np.all((q >= 0.0) & (q <= 1.0)):
        raise ArgumentError("keep", "must give probabilities in [0, 1]", given)
    q = np.broadcast_to(q, draw.weights.shape)
    some = params.generator(seed).random(len(q)) < q
    if not some.any():
        raise ArgumentError(
            "keep",
            "must leave an atom",
            Message("none of {n_q} at a mean of {mean:g}", n_q=len(q), mean=q.mean()),
            "Draw more atoms, or keep more.",
        )
    mean = float(draw.weights @ q) if callable(keep) else float(q[0])
    weights = draw.weights[some]
    return DirichletDraw(
        draw.atoms[some], weights / weights.sum(), draw.concentration * mean
    )


def move(
    draw: DirichletDraw,
    transition: Callable[[Matrix, np.random.Generator], Any],
    seed: Seed = None,
) -> DirichletDraw:
    """Let each atom jump independently of the others: DP(T mu) (theorems 6 and 7).

    Parameters
    ----------
    draw : DirichletDraw
    transition : callable
        ``transition(atoms, rng)`` returns the new atoms, in the same number.
    seed : int or numpy Generator, optional
        Seed of the moves.

    Returns
    -------
    DirichletDraw
        The new atoms, with unchanged weights.

    Examples
    --------
    >>> base = lambda n, rng: rng.normal(size=(n, 1))
    >>> draw = draw_dirichlet_process(1.0, base, seed=1)
    >>> moved = move(draw, lambda atoms, rng: atoms + 1.0)
    >>> bool((moved.weights == draw.weights).all())
    True
    """
    draw = check_draw("draw", draw)
    atoms = moved_atoms(draw, "transition", transition, seed)
    return DirichletDraw(atoms, draw.weights, draw.concentration)


def moved_atoms(
    draw: DirichletDraw, name: str, where: Callable[..., Any], seed: Seed
) -> Matrix:
    """Checked result of a user's function of atoms and a generator."""
    found = where(draw.atoms.copy(), params.generator(seed))
    atoms = params.as_array(name, found, np.float64)
    if atoms.ndim != 2 or len(atoms) != len(draw.atoms):
        raise ArgumentError(
            name,
            f"must give one row for each of the {len(draw.atoms)} atoms",
            Message("shape {shape}", shape=atoms.shape),
        )
    return atoms


def merge(
    draw: DirichletDraw,
    into: Callable[[Matrix, np.random.Generator], Any],
    seed: Seed = None,
) -> DirichletDraw:
    """Move atoms to common places, and merge those that meet: DP(T mu).

    As in `move`, atoms move independently of one another, by a map or at random. Here
    there are few places, so that the masses at a place add up (theorems 6 and 7, for a
    kernel T whose image of mu has atoms). The masses at the places p_1, p_2, ... are
    then Dirichlet(T mu(p_1), T mu(p_2), ...).

    Parameters
    ----------
    draw : DirichletDraw
    into : callable
        ``into(atoms, rng)`` returns the place of each atom, an array with the same
        number of rows. Equal rows are one place.
    seed : int or numpy Generator, optional
        Seed of the moves.

    Returns
    -------
    DirichletDraw
        One atom for each place, in the order of the places.

    Examples
    --------
    >>> base = lambda n, rng: rng.normal(size=(n, 1))
    >>> draw = draw_dirichlet_process(1.0, base, seed=1)
    >>> merge(draw, lambda atoms, rng: np.sign(atoms)).atoms.tolist()
    [[-1.0], [1.0]]
    """
    draw = check_draw("draw", draw)
    atoms = moved_atoms(draw, "into", into, seed) + 0.0  # no place is -0
    places, place = np.unique(atoms, axis=0, return_inverse=True)
    weights = np.zeros(len(places))
    np.add.at(weights, place.ravel(), draw.weights)
    return DirichletDraw(places, weights, draw.concentration)


def split(
    draw: DirichletDraw, chances: Any, seed: Seed = None
) -> tuple[DirichletDraw, ...]:
    """Divide the atoms at random among several processes: DP(q_1 mu), DP(q_2 mu), ...

    Each atom goes to part k with probability q_k, independently of the others, and the
    parts are renormalised. The parts are independent of one another and of their shares
    of the whole, which are Dirichlet(alpha_1, alpha_2, ...). `split` is therefore the
    inverse of `superpose`, and `thin` returns one of its parts.

    Parameters
    ----------
    draw : DirichletDraw
    chances : array_like of shape (n_parts,) or callable
        Probabilities q_k >= 0 whose sum is one, or a function of the atoms that returns
        an array of shape (n_atoms, n_parts).
    seed : int or numpy Generator, optional
        Seed of the choice.

    Returns
    -------
    tuple of DirichletDraw
        Parts with concentrations as in `thin`.

    Raises
    ------
    ValueError
        If a part has no atom.

    Examples
    --------
    >>> base = lambda n, rng: rng.normal(size=(n, 1))
    >>> draw = draw_dirichlet_process(2.0, base, seed=1)
    >>> [part.concentration for part in split(draw, [0.25, 0.75], seed=2)]
    [0.5, 1.5]
    """
    draw = check_draw("draw", draw)
    n = len(draw.weights)
    given = chances(draw.atoms) if callable(chances) else chances
    q = params.as_array("chances", given, np.float64)
    q = q[None] if q.ndim == 1 and not callable(chances) else q
    if q.ndim != 2 or len(q) not in (1, n) or not q.shape[1]:
        raise ArgumentError(
            "chances",
            "must be one for each part, or a function that gives these for each of "
            f"the {n} atoms",
            Message("shape {shape}", shape=q.shape),
        )
    if not np.all(q >= 0.0) or not np.allclose(q.sum(axis=1), 1.0, atol=1e-9):
        raise ArgumentError("chances", "must be >= 0 with sum 1", given)
    ends = np.cumsum(q, axis=1)
    at = params.generator(seed).random((n, 1)) * ends[:, -1:]
    part = np.minimum((ends <= at).sum(axis=1), q.shape[1] - 1)
    means = draw.weights @ q if len(q) == n else q[0]
    found = []
    for k, mean in enumerate(means.tolist()):
        weights = draw.weights[part == k]
        if not len(weights):
            raise ArgumentError(
                "chances",
                "must leave an atom to each part",
                Message(f"none of {n} for part {k}"),
                "Draw more atoms, or give it more.",
            )
        found.append(
            DirichletDraw(
                draw.atoms[part == k], weights / weights.sum(),
                draw.concentration * mean,
            )
        )  # fmt: skip
    return tuple(found)
