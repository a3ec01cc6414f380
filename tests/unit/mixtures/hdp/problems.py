"""Small problems that the tests of topic models share, for engine and oracle alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntree.mixtures.hdp.families import Family
from dyntree.mixtures.hdp.options import HDPOptions, HDPPrior
from dyntree.mixtures.hdp.registry import family_of
from dyntree.mixtures.hdp.row_store import RowStore
from dyntree.mixtures.hdp.store import Store
from dyntree.mixtures.hdp.sweeps import Search
from dyntree.mixtures.hdp.topics import Topics
from dyntree.mixtures.hdp.word_store import WordStore
from tests.oracle import hdp as oracle

FAMILIES = ("full", "diag", "multinomial")


@dataclass
class Both:
    """One problem as the engine and as the oracle has it."""

    search: Search
    store: Store
    problem: oracle.Problem

    @property
    def family(self) -> Family:
        return self.search.family

    def topics(self, q: Any, alpha: Any) -> Topics:
        """The engine's topics for given responsibilities."""
        K, items = q.shape[1], np.arange(self.store.n_items)
        found = [self.store.moments(items, q[:, k]) for k in range(K)]
        S = len(self.problem.documents)
        counts = [self.store.group_sums(items, q[:, k], S) for k in range(K)]
        return Topics(
            np.array(alpha, dtype=float), np.array([one[0] for one in found]),
            np.stack([one[1] for one in found]), np.stack([one[2] for one in found]),
            np.stack(counts, axis=1), self.problem.documents, np.arange(K),
        )  # fmt: skip


def family_pair(name: str, d: int, prior: HDPPrior) -> tuple[Family, Any]:
    """A family of the engine and its twin."""
    family = family_of(name, d, prior, np.zeros(d))
    if name == "full":
        B0 = family.scale0 * np.eye(d)
        return family, oracle.Full(np.zeros(d), family.kappa0, family.shape0, B0)
    if name == "diag":
        b0 = family.scale0
        return family, oracle.Diagonal(np.zeros(d), family.kappa0, family.shape0, b0)
    return family, oracle.Multinomial(prior.word, d)


def problem_of(
    name: str, rows: Any, group: Any, part: Any = None, documents: Any = None,
    prior: HDPPrior | None = None, width: int | None = None,
    options: HDPOptions | None = None,
) -> Both:  # fmt: skip
    """Points, clumped as `part` says, of documents in groups."""
    prior = prior or HDPPrior()
    group = np.asarray(group)
    S = int(group.max()) + 1
    documents = np.ones(S) if documents is None else np.asarray(documents, dtype=float)
    if name == "multinomial":
        family, twin = family_pair(name, width or int(np.max(rows)) + 1, prior)
        store: Store = WordStore.of(family, rows, np.ones(len(rows)), group)
    else:
        family, twin = family_pair(name, rows.shape[1], prior)
        store = RowStore.of(family, rows, group)
    phi, owner = twin.phi(rows), np.arange(len(rows))
    if part is not None:
        owner = np.asarray(part)
        n = int(owner.max()) + 1
        store = store.clumped(owner, np.ones(n, dtype=bool))
    n = int(owner.max()) + 1
    count = np.bincount(owner, minlength=n).astype(float)
    phibar = np.zeros((n, phi.shape[1]))
    np.add.at(phibar, owner, phi)
    by_group = np.zeros((n, S))
    np.add.at(by_group, (owner, group), 1.0)
    twin_problem = oracle.Problem(
        twin,
        phibar / count[:, None],
        count,
        by_group,
        documents,
        prior.shape,
        prior.rate,
    )
    search = Search(family, prior, options or HDPOptions())
    return Both(search, store, twin_problem)


def random_problem(
    name: str, rng: np.random.Generator, *, clumps: bool = False, n: int = 60,
    S: int = 6, documents: Any = None, options: HDPOptions | None = None,
    prior: HDPPrior | None = None,
) -> Both:  # fmt: skip
    """Three topics' points, or words, of S groups."""
    group = np.sort(rng.integers(S, size=n))
    group[:S] = np.arange(S)
    topic = rng.integers(3, size=n)
    if name == "multinomial":
        rows: Any = (2 * topic + rng.integers(4, size=n)).astype(int)
    else:
        rows = 2.0 * topic[:, None] + rng.normal(size=(n, 3)) * [1.0, 0.5, 0.3]
    part = None
    if clumps:
        part = np.unique(rng.integers(n // 3, size=n), return_inverse=True)[1]
    return problem_of(
        name, rows, group, part, documents, prior, 8, options
    )  # fmt: skip


def random_q(rng: np.random.Generator, n: int, K: int) -> Any:
    """Responsibilities drawn at random."""
    return rng.dirichlet(np.full(K, 0.7), n)
