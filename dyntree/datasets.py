"""Data sets that come with the package (data/README.md), and ones made by a seed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dyntree import params

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import pandas as pd


def _file(name: str) -> Traversable:
    """A data file, from an installed package or from a source tree."""
    try:
        found = files("dyntree.data") / name
    except ModuleNotFoundError:
        found = Path(__file__).parent.parent / "data" / name
    return found


def _read(name: str) -> pd.DataFrame:
    import pandas as pd

    with _file(name).open("rb") as stream:
        if name.endswith(".gz"):
            return pd.read_csv(stream, compression="gzip")
        return pd.read_csv(stream)


def load_mcycle() -> pd.DataFrame:
    """Simulated motorcycle accident: 133 rows, head acceleration against time.

    Returns
    -------
    DataFrame
        ``times`` in milliseconds after impact, ``accel`` in g.

    Notes
    -----
    B. W. Silverman (1985), JRSS B 47, 1-52.

    Examples
    --------
    >>> load_mcycle().shape
    (133, 2)
    """
    return _read("mcycle.csv")


def load_spambase() -> pd.DataFrame:
    """E-mails labelled spam or nonspam: 4601 rows, 57 inputs, sorted by label.

    Returns
    -------
    DataFrame
        Word and character frequencies, runs of capitals, and ``type``.

    Notes
    -----
    UCI Repository of Machine Learning Databases (1999), donor G. Forman.

    Examples
    --------
    >>> load_spambase()["type"].value_counts().to_dict()
    {'nonspam': 2788, 'spam': 1813}
    """
    return _read("spambase.csv.gz")


def load_elec2(path: str | Path) -> pd.DataFrame:
    """Electricity market of New South Wales: 27 552 rows in time order, from a file.

    The data are not shipped. In R: ``write.csv(dynaTree::elec2, "elec2.csv",
    row.names = FALSE)``.

    Parameters
    ----------
    path : str or Path
        A CSV file, perhaps compressed, with the columns x1, ..., x4 and y.

    Returns
    -------
    DataFrame
        ``x1`` ... ``x4`` and the label ``y``, 1 or 2.

    Notes
    -----
    M. Harries (1999), Splice-2 comparative evaluation: electricity pricing.
    """
    import pandas as pd

    frame = pd.read_csv(path)
    columns = ["x1", "x2", "x3", "x4", "y"]
    if list(frame.columns) != columns:
        raise ValueError(
            f"path must be a CSV file with the columns {columns}; got "
            f"{list(frame.columns)}."
        )
    return frame


@dataclass(frozen=True, eq=False)
class EvolvingRows:
    """Rows of several phases, and the clusters that they came from.

    Attributes
    ----------
    phases : tuple of ndarray of shape (n_rows, n_columns)
    labels : tuple of ndarray of int64 of shape (n_rows,)
        Number of the cluster of each row, the same from birth to death.
    ids : tuple of ndarray of int64 of shape (n_clusters,)
        The clusters alive in each phase.
    means : tuple of ndarray of shape (n_clusters, n_columns)
        Mean of a row of each of them.
    """

    phases: tuple[NDArray[np.float64], ...]
    labels: tuple[NDArray[np.int64], ...]
    ids: tuple[NDArray[np.int64], ...]
    means: tuple[NDArray[np.float64], ...]

    def __len__(self) -> int:
        return len(self.phases)


def _lives(
    n_phases: int, n_start: int, births: float, mean_life: float, rng: Generator
) -> list[NDArray[np.int64]]:
    """Clusters alive in each phase: Poisson births, geometric lives."""
    params.count("n_phases", n_phases, 1)
    params.count("n_start", n_start, 0)
    _not_negative(births=births)
    if params.real("mean_life", mean_life) < 1.0:
        raise ValueError(f"mean_life must be >= 1 phase; got {mean_life!r}.")
    alive, n_ever, phases = list(range(n_start)), n_start, []
    for phase in range(n_phases):
        if phase:
            alive = [one for one in alive if rng.random() >= 1.0 / mean_life]
            n_new = int(rng.poisson(births))
            alive += range(n_ever, n_ever + n_new)
            n_ever += n_new
        phases.append(np.array(alive, dtype=np.int64))
    return phases


def _not_negative(**given: float) -> None:
    """Raise ValueError for a number that is not >= 0."""
    for name, value in given.items():
        if params.real(name, value) < 0.0:
            raise ValueError(f"{name} must be >= 0; got {value!r}.")


def evolving_gaussians(
    n_phases: int = 80,
    n_rows: int = 100,
    *,
    n_start: int = 2,
    births: float = 0.05,
    mean_life: float = 40.0,
    base_variance: float = 49.0,
    step_variance: float = 0.1,
    variance: float = 1.0,
    n_columns: int = 2,
    seed: int = 0,
) -> EvolvingRows:
    """Gaussian clusters that are born, walk and die: the simulation of the paper.

    Parameters
    ----------
    n_phases, n_rows : int, default 80 and 100
        Phases, and rows of each living cluster in each phase.
    n_start : int, default 2
        Clusters of the first phase.
    births, mean_life : float, default 0.05 and 40
        Births a phase, Poisson; phases that a cluster lives, geometric.
    base_variance, step_variance, variance : float, default 49, 0.1 and 1
        Of new means, of their steps, and of rows, along each axis.
    n_columns : int, default 2
    seed : int, default 0

    Returns
    -------
    EvolvingRows
        Phases without a living cluster have no rows.

    Notes
    -----
    Lin, Grimson and Fisher (2010), section 4.1; dimension, base and step variance are
    not told there.

    Examples
    --------
    >>> data = evolving_gaussians(n_phases=3, n_rows=10, seed=1)
    >>> data.phases[0].shape, data.labels[0].tolist()[::10]
    ((20, 2), [0, 1])
    """
    rng = params.generator(seed)
    params.count("n_rows", n_rows, 0)
    params.count("n_columns", n_columns, 1)
    _not_negative(
        base_variance=base_variance, step_variance=step_variance, variance=variance
    )
    lives = _lives(n_phases, n_start, births, mean_life, rng)
    where: dict[int, NDArray[np.float64]] = {}
    phases, labels, means = [], [], []
    for alive in lives:
        for one in alive.tolist():
            if one in where:
                step = np.sqrt(step_variance) * rng.normal(size=n_columns)
                where[one] = where[one] + step
            else:
                where[one] = np.sqrt(base_variance) * rng.normal(size=n_columns)
        mean = np.array([where[one] for one in alive.tolist()]).reshape(-1, n_columns)
        noise = rng.normal(size=(n_rows * len(alive), n_columns))
        phases.append(np.repeat(mean, n_rows, axis=0) + np.sqrt(variance) * noise)
        labels.append(np.repeat(alive, n_rows))
        means.append(mean)
    return EvolvingRows(tuple(phases), tuple(labels), tuple(lives), tuple(means))


def evolving_flows(
    n_phases: int = 16,
    n_rows: int = 500,
    *,
    n_start: int = 4,
    births: float = 0.35,
    mean_life: float = 12.0,
    noise: float = 0.1,
    seed: int = 0,
) -> EvolvingRows:
    """Flows of people through a hall of 10 by 10: places and velocities.

    Parameters
    ----------
    n_phases, n_rows : int, default 16 and 500
        Phases, and rows of each phase in all.
    n_start : int, default 4
        Flows of the first phase.
    births, mean_life : float, default 0.35 and 12
        Births a phase, Poisson; phases that a flow lives, geometric.
    noise : float, default 0.1
        Standard deviation of velocities about their field.
    seed : int, default 0

    Returns
    -------
    EvolvingRows
        Columns x, y, and the velocities along them: v = b + A (x - c) + noise, each
        flow with b, A and c of its own.

    Examples
    --------
    >>> data = evolving_flows(n_phases=2, n_rows=50, seed=1)
    >>> data.phases[1].shape
    (50, 4)
    """
    rng = params.generator(seed)
    params.count("n_rows", n_rows, 0)
    _not_negative(noise=noise)
    lives = _lives(n_phases, n_start, births, mean_life, rng)
    flows: dict[int, Any] = {}
    phases, labels, means = [], [], []
    for alive in lives:
        for one in alive.tolist():
            if one not in flows:
                flows[one] = (
                    rng.uniform(1.0, 9.0, size=2), rng.uniform(0.5, 1.2),
                    rng.normal(size=2), 0.3 * rng.normal(size=(2, 2)),
                )  # fmt: skip
        size = n_rows if len(alive) else 0
        owner = rng.choice(alive, size=size) if size else np.empty(0, dtype=np.int64)
        rows = np.empty((size, 4))
        for one in alive.tolist():
            centre, spread, level, slope = flows[one]
            at = np.flatnonzero(owner == one)
            step = spread * rng.normal(size=(len(at), 2))
            rows[at, :2] = centre + step
            rows[at, 2:] = (
                level + step @ slope.T + noise * rng.normal(size=(len(at), 2))
            )
        phases.append(rows)
        labels.append(owner.astype(np.int64))
        mean = [
            np.concatenate([flows[one][0], flows[one][2]]) for one in alive.tolist()
        ]
        means.append(np.array(mean).reshape(-1, 4))
    return EvolvingRows(tuple(phases), tuple(labels), tuple(lives), tuple(means))


def evolving_topics(
    n_phases: int = 12,
    n_rows: int = 60,
    *,
    n_words: int = 200,
    length: int = 60,
    n_start: int = 4,
    births: float = 0.5,
    mean_life: float = 8.0,
    drift: float = 0.1,
    seed: int = 0,
) -> EvolvingRows:
    """Documents about topics that come, drift and go: counts of words.

    Parameters
    ----------
    n_phases, n_rows : int, default 12 and 60
        Phases, and documents of each phase in all.
    n_words, length : int, default 200 and 60
        Words there are, and words of a document.
    n_start : int, default 4
        Topics of the first phase.
    births, mean_life : float, default 0.5 and 8
        Births a phase, Poisson; phases that a topic lives, geometric.
    drift : float in [0, 1], default 0.1
        Share of a topic that is drawn anew each phase.
    seed : int, default 0

    Returns
    -------
    EvolvingRows
        Each document has one topic; `means` are probabilities of words.

    Examples
    --------
    >>> data = evolving_topics(n_phases=2, n_rows=5, seed=1)
    >>> data.phases[0].shape, int(data.phases[0].sum())
    ((5, 200), 300)
    """
    rng = params.generator(seed)
    params.count("n_rows", n_rows, 0)
    params.count("n_words", n_words, 1)
    params.count("length", length, 0)
    if not 0.0 <= params.real("drift", drift) <= 1.0:
        raise ValueError(f"drift must be in [0, 1]; got {drift!r}.")
    lives = _lives(n_phases, n_start, births, mean_life, rng)
    topics: dict[int, NDArray[np.float64]] = {}
    phases, labels, means = [], [], []
    for alive in lives:
        for one in alive.tolist():
            fresh = rng.dirichlet(np.full(n_words, 0.05))
            old = topics.get(one)
            topics[one] = fresh if old is None else (1 - drift) * old + drift * fresh
        size = n_rows if len(alive) else 0
        owner = rng.choice(alive, size=size) if size else np.empty(0, dtype=np.int64)
        rows = [rng.multinomial(length, topics[one]) for one in owner.tolist()]
        phases.append(np.array(rows, dtype=np.float64).reshape(size, n_words))
        labels.append(owner.astype(np.int64))
        means.append(
            np.array([topics[one] for one in alive.tolist()]).reshape(-1, n_words)
        )
    return EvolvingRows(tuple(phases), tuple(labels), tuple(lives), tuple(means))
