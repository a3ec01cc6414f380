"""Multinomial: documents as counts of words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dyntree._core.mixtures.emissions import Emission
from dyntree._core.mixtures.words import Words
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.ddp.families import Family, frozen_value, vector
from dyntree.mixtures.ddp.transitions import Discount, OwnTransition, Parameters
from dyntree.mixtures.shared.arrays import Ids
from dyntree.params.names import suggesting


@suggesting
@dataclass(frozen=True)
class Multinomial(Family):
    """Counts of words; a particle is a distribution over the words.

    Parameters
    ----------
    beta : float or array_like of shape (n_columns,), default 0.1
        Concentration of the Dirichlet base, > 0. Small values suit topics with few
        words.

    Notes
    -----
    Densities are those of the words in their order: the multinomial coefficient of a
    row, which is the same for all particles, is left out. Rows without words have no
    information and do not count. They are labelled with the particle that is most
    probable a priori.

    Examples
    --------
    >>> Multinomial(0.5)
    Multinomial(beta=0.5)
    """

    beta: Any = 0.1

    transitions = (Discount,)
    parameter_rules = MappingProxyType({"beta": "positive"})

    def __post_init__(self) -> None:
        value = frozen_value("beta", self.beta)
        object.__setattr__(self, "beta", value)
        vector("beta", value, np.size(value), positive=True)

    def default_transition(self) -> Discount:
        """Sums that fade by a tenth each phase."""
        return Discount(0.9)

    def resolved(self, rows: Matrix) -> Self:
        """Return the family with all scales filled in; see `Family`."""
        return replace(self, beta=vector("beta", self.beta, rows.shape[1], True))

    def check_rows(self, rows: Matrix, names: tuple[str, ...]) -> None:
        """Raise ValueError for rows without a density."""
        bad = (rows < 0.0) | (rows != np.floor(rows))
        if np.any(bad):
            row, column = np.argwhere(bad)[0]
            raise ArgumentError(
                "X",
                "must hold whole numbers >= 0 for Multinomial, counts of words",
                Message("{rows:g}", rows=rows[row, column]),
                row=row,
                column=names[column],
            )

    def to_header(self) -> dict[str, Any]:
        """Options and scales by name."""
        return {"family": type(self).__name__, "beta": self.beta}

    def counting(self, rows: Matrix) -> NDArray[np.bool_]:
        """Which rows have at least one word."""
        return np.asarray(rows.any(axis=1))

    def n_sums(self) -> int:
        """Length of sums."""
        return len(self.beta) + 2

    def base(self) -> Vector:
        """Prior row of a new particle."""
        return np.array(self.beta)

    def emission(self, priors: Matrix, rows: Matrix) -> Emission:
        """Rows and priors as the core takes them."""
        row, word = np.nonzero(rows)
        start = np.searchsorted(row, np.arange(len(rows) + 1)).astype(np.int64)
        return Words(
            np.ascontiguousarray(priors), start, word.astype(np.int32), rows[row, word]
        )

    def sums(self, rows: Matrix, labels: Ids, n: int) -> Matrix:
        """Sums of the rows of each label."""
        out = np.zeros((n, rows.shape[1] + 2))
        for k in np.unique(labels[labels >= 0]):
            members = rows[labels == k]
            out[k, 0], out[k, 1] = len(members), members.sum()
            out[k, 2:] = members.sum(axis=0)
        return out

    def posterior(self, priors: Matrix, sums: Matrix) -> Matrix:
        """Prior rows updated by the sums of rows."""
        return priors + sums[:, 2:]

    def stepped(self, priors: Matrix, transition: OwnTransition) -> Matrix:
        """Prior rows one phase later, by a discount."""
        assert isinstance(transition, Discount)
        base = self.base()
        return base + transition.delta * (priors - base)

    def parameters(self, priors: Matrix) -> Parameters:
        """Parameters of the Dirichlet law of the words."""
        return {"beta": priors}

    def with_parameters(self, found: Parameters) -> Matrix:
        """Prior rows of these parameters."""
        return found["beta"]

    def is_sound(self, priors: Matrix) -> bool:
        """Whether these are valid prior rows."""
        return bool(np.all(priors > 0.0))

    def log_marginal(self, priors: Matrix, sums: Matrix) -> Vector:
        """Log marginal likelihood of the rows behind sums."""
        counts, total = sums[:, 2:], priors.sum(axis=1)
        found: Vector = gammaln(total) - gammaln(total + sums[:, 1])
        found = found + (gammaln(priors + counts) - gammaln(priors)).sum(axis=1)
        return found

    def n_free(self, n_columns: int) -> int:
        """Free parameters of a particle: the probabilities of all words but one."""
        return n_columns - 1

    def means(self, priors: Matrix) -> Matrix:
        """Probabilities of the words."""
        found: Matrix = priors / priors.sum(axis=1, keepdims=True)
        return found

    def covariances(self, priors: Matrix) -> Matrix:
        """Variances of the probabilities of the words, shape (n, n_columns)."""
        p, total = self.means(priors), priors.sum(axis=1)
        found: Matrix = p * (1.0 - p) / (total + 1.0)[:, None]
        return found

    def row_covariances(self, priors: Matrix) -> Matrix:
        """Raise an error, because the matrix would have n_words by n_words entries."""
        raise ArgumentError(
            "covariances",
            "need a family of Gaussians",
            Message("Multinomial, whose covariances follow from its mean"),
        )

    def draw(self, prior: Vector, n: int, rng: np.random.Generator) -> Matrix:
        """Draw documents whose number of words is the number of columns."""
        rows = [rng.multinomial(len(prior), rng.dirichlet(prior)) for _ in range(n)]
        return np.array(rows, dtype=np.float64).reshape(n, len(prior))

    def locations(self, prior: Vector, n: int, rng: np.random.Generator) -> Matrix:
        """Draw n distributions over the words."""
        return rng.dirichlet(prior, size=n)

    def distances(self, priors: Matrix, most: float = np.inf) -> Matrix:
        """Hellinger distances of the mean probabilities, times 6; 3 is half way."""
        roots = np.sqrt(self.means(priors))
        return 6.0 * np.sqrt(np.maximum(0.0, 1.0 - roots @ roots.T))
