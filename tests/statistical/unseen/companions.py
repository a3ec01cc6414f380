"""Companions with their defaults on data that chose none of them, beside peers.

Run ``python -m tests.statistical.unseen.companions [SECTION ...]``; the last results
are stored in companions.txt. Sections: tables, densities, mixtures, streams, sequences,
words. Tables and series are those of R's packages datasets, MASS and cluster, which
come with R; texts are those of gensim. A cell is the mean over three seeds and, in
brackets, the worst of them; seconds are of the processor; a fifth of the rows is held
out, and log densities are in nats a row.
"""

from __future__ import annotations

import argparse
import bz2
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.bench.companion_clusters import beside_diagonal, clusters_table, measured
from tests.bench.companion_streams import (
    in_stays,
    segments_by_default,
    segments_of_hmm,
    stream_table,
)
from tests.bench.companion_tables import Cells, Table, needs, quietly, timed
from tests.bench.companion_words import learned_topics, words_table
from tests.bench.companions import print_sections
from tests.bench.hdp_scenes import halved
from tests.bench.hdp_text import PEERS, lda_topics
from tests.bench.sva_quality import hmm_fit

MOST_STATES = 6  # of the peer's hidden Markov model, which chooses by BIC
CLASSES = {  # tables of R whose rows have classes: package, name -> column of them
    ("MASS", "crabs"): ["sp", "sex"],
    ("MASS", "fgl"): ["type"],
    ("MASS", "biopsy"): ["class"],
    ("MASS", "Pima.te"): ["type"],
    ("MASS", "synth.te"): ["yc"],
    ("MASS", "painters"): ["School"],
}
MEASURED = {  # tables of R: package -> names
    "datasets": (
        "airquality", "attenu", "ChickWeight", "CO2", "faithful", "infert", "quakes",
        "randu",
    ),
    "MASS": (
        "Boston", "Cars93", "GAGurine", "Pima.te", "birthwt", "cpus", "crabs", "fgl",
        "geyser", "gilgais", "nlschools", "rotifer", "stormer", "synth.te",
    ),
    "cluster": ("chorSub", "ruspini", "xclara"),
}  # fmt: skip
NOT_MEASURED = ["ID", "id", "index", "rownames", "Subject", "Chick"]  # names of rows
SERIES = {  # series of R, as they are learned
    "logarithmic returns of four shares": "100 * diff(log(EuStockMarkets))",
    "returns of the S&P 500": "MASS::SP500",
    "Old Faithful: waiting, duration": "MASS::geyser",
    "road casualties of Britain": "log(Seatbelts[, 2:6])",
    "widths of tree rings": "treering",
    "temperatures of a beaver": "beaver2[, 'temp']",
}


def of_r(expression: str) -> pd.DataFrame:
    """A data frame that an expression of R gives."""
    if shutil.which("Rscript") is None:
        raise ModuleNotFoundError("there is no Rscript", name="R")
    code = f"write.csv(as.data.frame({expression}), row.names = FALSE)"
    run = ["Rscript", "--vanilla", "-e", code]
    text = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    return pd.read_csv(StringIO(text))


def tables() -> Iterator[Table]:
    """Tables of R whose rows have classes."""
    for (package, name), columns in CLASSES.items():
        frame = of_r(f"{package}::{name}").dropna()
        labels = frame.groupby(columns).ngroup().to_numpy()
        X = frame.drop(columns=[*columns, *NOT_MEASURED], errors="ignore")
        X = X.select_dtypes("number").to_numpy(float)
        k = len(np.unique(labels))
        yield clusters_table(
            f"{name}: {X.shape[0]} x {X.shape[1]}, {k} classes", k,
            lambda seed, X=X, y=labels: (X, y), scaled=True,
        )  # fmt: skip


def densities() -> Iterator[Table]:
    """Rows held out of tables of R."""
    every = {}
    for package, names in MEASURED.items():
        for name in names:
            frame = of_r(f"{package}::{name}")
            frame = frame.drop(columns=NOT_MEASURED, errors="ignore")
            every[name] = frame.select_dtypes("number").dropna().to_numpy(float)
    yield from beside_diagonal(measured(every))


def drawn(
    k: int, width: int, n: int, apart: float, seed: int, *, df: float = np.inf,
    share: float = np.inf,
) -> tuple[Any, Any]:  # fmt: skip
    """Rows of k clusters, whose columns are correlated in each in its own way.

    Parameters
    ----------
    k, width, n : int
    apart : float
        Standard deviation of the means, in units of those within clusters.
    seed : int
    df : float
        Degrees of freedom of the rows about their means.
    share : float
        Concentration of the clusters' shares: equal ones if infinite.
    """
    rng = np.random.default_rng([seed, k, width])
    even = np.isinf(share)
    shares = np.full(k, 1.0 / k) if even else rng.dirichlet(np.full(k, share))
    label = rng.choice(k, size=n, p=shares)
    means = apart * rng.normal(size=(k, width))
    mixing = rng.normal(size=(k, width, width)) / np.sqrt(width)
    noise = np.einsum("nij,nj->ni", mixing[label], rng.normal(size=(n, width)))
    if np.isfinite(df):
        noise /= np.sqrt(rng.chisquare(df, (n, 1)) / df)
    return means[label] + noise, label


def among_noise(seed: int) -> tuple[Any, Any]:
    """Clusters in four columns, and eight of noise of the same spread."""
    X, label = drawn(8, 4, 1200, 6.0, seed)
    noise = np.random.default_rng([seed, 8]).normal(size=(len(X), 8))
    return np.column_stack([X, X.std() * noise]), label


def in_units(seed: int) -> tuple[Any, Any]:
    """Clusters whose columns are measured in units from .001 to 1000."""
    X, label = drawn(6, 5, 800, 6.0, seed)
    return X * 10.0 ** np.arange(-3, 7, 1.5)[: X.shape[1]], label


def mixtures() -> Iterator[Table]:
    """Clusters that are drawn, each with its own covariance."""
    scenes: dict[str, tuple[int, Callable[[int], tuple[Any, Any]]]] = {
        "5 clusters, 1000 x 3": (5, lambda seed: drawn(5, 3, 1000, 5.0, seed)),
        "9 clusters of unequal shares, 1500 x 4": (
            9, lambda seed: drawn(9, 4, 1500, 7.0, seed, share=1.0),
        ),
        "7 clusters of t noise of 5 degrees of freedom, 2000 x 6": (
            7, lambda seed: drawn(7, 6, 2000, 7.0, seed, df=5.0),
        ),
        "15 clusters, 1500 x 12": (15, lambda seed: drawn(15, 12, 1500, 5.0, seed)),
        "8 clusters and eight columns of noise, 1200 x 12": (8, among_noise),
        "6 clusters in units of .001 to 1000, 800 x 5": (6, in_units),
        "one cluster, 1000 x 4": (1, lambda seed: drawn(1, 4, 1000, 1.0, seed)),
    }  # fmt: skip
    for title, (k, scene) in scenes.items():
        yield clusters_table(title, k, scene, scaled="units" in title)


def bananas() -> tuple[Any, Any]:
    """Two bent classes of river."""
    needs("river")
    from river.datasets import Bananas

    rows = [(list(x.values()), y) for x, y in Bananas()]
    return np.array([x for x, _ in rows]), np.array([y for _, y in rows]).astype(int)


def radial(seed: int) -> tuple[Any, Any]:
    """Twelve balls of unequal widths of river, a class each."""
    needs("river")
    from river.datasets.synth import RandomRBF

    source = RandomRBF(
        seed_model=seed, seed_sample=seed, n_classes=12, n_features=6, n_centroids=12
    )
    rows = [(list(x.values()), y) for x, y in source.take(4000)]
    return np.array([x for x, _ in rows]), np.array([y for _, y in rows])


def streams() -> Iterator[Table]:
    """Streams of river and of drawn clusters, learned in batches."""
    scenes: dict[str, tuple[int, Callable[[int], tuple[Any, Any]]]] = {
        "river's Bananas: 5300 x 2, 2 classes": (2, lambda seed: bananas()),
        "river's RandomRBF: 4000 x 6, 12 centres": (12, radial),
        "10 clusters, 6000 x 5": (10, lambda seed: drawn(10, 5, 6000, 6.0, seed)),
    }
    for title, (k, scene) in scenes.items():
        try:
            yield stream_table(title, k, scene)
        except ModuleNotFoundError as error:
            yield Table(f"{title}: skipped, there is no {error.name}", {})


def rotated_states(seed: int) -> tuple[Any, Any]:
    """Four states of correlated columns, in stays of some fifteen rows."""
    rng = np.random.default_rng([seed, 21])
    means = 3.0 * rng.normal(size=(4, 3))
    X, label = in_stays(seed + 50, means, np.ones(4), 15.0)
    mixing = rng.normal(size=(4, 3, 3)) / np.sqrt(3.0)
    within = np.einsum("nij,nj->ni", mixing[label], X - means[label])
    return means[label] + within, label


def wide_states(seed: int) -> tuple[Any, Any]:
    """Six states in ten columns, in stays of some forty rows."""
    means = 1.5 * np.random.default_rng([seed, 22]).normal(size=(6, 10))
    return in_stays(seed + 60, means, np.full(6, 1.0), 40.0)  # type: ignore[no-any-return]


def one_column(seed: int) -> tuple[Any, Any]:
    """Three states of one column, whose spreads are .5, 1 and 2."""
    means = np.array([[-4.0], [0.0], [4.0]])
    return in_stays(seed + 70, means, np.array([0.5, 1.0, 2.0]), 25.0)  # type: ignore[no-any-return]


def sequences() -> Iterator[Table]:
    """Sequences of drawn states, whose number the peer knows, and series of R."""
    columns = {"ARI decoded": "low", "K": "each", "held out": "low", "CPU s": "high"}
    for title, scene in (
        ("four states of correlated columns, 3000 x 3", rotated_states),
        ("six states of ten columns, 3000 x 10", wide_states),
        ("three states of one column, spreads .5 to 2, 3000 x 1", one_column),
    ):
        table = Table(title, columns)
        table.fill({
            **{
                f"HDPHSMMClusterer, emission {emission}": (
                    lambda seed, scene=scene, emission=emission: segments_by_default(
                        *scene(seed), emission
                    )
                )
                for emission in ("auto", "mppca", "gmm")
            },
            "hmmlearn GaussianHMM (K given), ten starts": (
                lambda seed, scene=scene: segments_of_hmm(*scene(seed), seed)
            ),
        })  # fmt: skip
        yield table
    for title, expression in SERIES.items():
        yield series_table(title, of_r(expression).to_numpy(float))


def series_table(title: str, X: Any) -> Table:
    """What is predicted of the last fifth of a series."""
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    n = int(0.8 * len(X))
    table = Table(
        f"{title}: {len(X)} x {X.shape[1]}, the last fifth after the others",
        {"K": "each", "held out": "low", "CPU s": "high"},
    )
    programs: dict[str, Callable[[int], Cells]] = {
        f"HDPHSMMClusterer, emission {emission}": (
            lambda seed, emission=emission: series_of_ours(X, n, emission)
        )
        for emission in ("auto", "mppca", "gmm")
    }
    programs["hmmlearn GaussianHMM (K by BIC), ten starts each"] = lambda seed: (
        series_of_hmm(X, n, seed)
    )
    table.fill(programs, [0])
    return table


def series_of_ours(X: Any, n: int, emission: str) -> Cells:
    """The semi-Markov model, with all that it chooses itself."""
    cells = segments_by_default(X[: 5 * n // 4], np.zeros(5 * n // 4), emission)
    return {name: cells[name] for name in ("K", "held out", "CPU s")}


def series_of_hmm(X: Any, n: int, seed: int) -> Cells:
    """hmmlearn's model of the number of states that has the lowest BIC."""
    needs("hmmlearn")

    def best() -> Any:
        fits = [hmm_fit(X[:n], k, seed) for k in range(1, MOST_STATES + 1)]
        return min(fits, key=lambda fit: fit.bic(X[:n]))

    model, seconds = timed(best)
    with quietly():
        score = float(model.score(X[n:])) / len(X[n:])
    return {"K": model.n_components, "held out": score, "CPU s": seconds}


def gensim_text(name: str) -> list[str]:
    """Documents of a file that gensim brings along, a line each, without labels."""
    needs("gensim")
    import gensim

    path = Path(gensim.__file__).parent / "test" / "test_data" / name
    data = path.read_bytes()
    text = (bz2.decompress(data) if name.endswith("bz2") else data).decode("latin-1")
    return [re.sub(r"^__label__\w+", "", line) for line in text.splitlines()]


def counted(texts: list[str], n_train: int, seed: int, least: int) -> Any:
    """Counts of words of documents in an order of chance; see `halved`."""
    from sklearn.feature_extraction.text import CountVectorizer

    rng = np.random.default_rng([seed, 31])
    order = rng.permutation(len(texts))[: n_train + max(n_train // 4, 1)]
    counts = CountVectorizer(stop_words="english", min_df=least, max_df=0.3)
    matrix = counts.fit_transform([texts[i] for i in order]).toarray()
    has_words = matrix.sum(axis=1) > 0
    n_empty = int(np.count_nonzero(~has_words[:n_train]))
    return halved(matrix[has_words], n_train - n_empty, rng)


def in_pieces(texts: list[str], n_words: int) -> list[str]:
    """Pieces of documents, of a number of words each."""
    pieces = []
    for text in texts:
        words = text.split()
        for first in range(0, len(words) - n_words + 1, n_words):
            pieces.append(" ".join(words[first : first + n_words]))
    return pieces


def words() -> Iterator[Table]:
    """Texts that gensim brings along, whole and in pieces."""
    programs = {
        "MemoryBoundedHDP": learned_topics,
        "scikit-learn LDA 20": lambda train, seed: lda_topics(train, 20, seed),
    } | {name: find for name, find in PEERS.items() if "LDA" not in name}
    articles = gensim_text("head500.noblanks.cor.bz2")
    beginnings = [" ".join(text.split()[:300]) for text in articles]
    pieces = in_pieces(beginnings, 30)
    reviews = gensim_text("pang_lee_polarity.cor")
    for title, texts, n_train, least in (
        ("the first 300 words of 200 articles of an encyclopaedia", beginnings, 200, 5),
        ("1000 pieces of 30 words of these articles", pieces, 1000, 5),
        ("160 sentences of film reviews", reviews, 160, 2),
    ):
        yield words_table(
            title,
            lambda seed, texts=texts, n=n_train, least=least: counted(
                texts, n, seed, least
            ),
            10,
            programs,
        )


SECTIONS: dict[str, Callable[[], Iterator[Table]]] = {
    "tables": tables,
    "densities": densities,
    "mixtures": mixtures,
    "streams": streams,
    "sequences": sequences,
    "words": words,
}


def main() -> None:
    """Run the sections that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = ", ".join(SECTIONS)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=names)
    chosen = parser.parse_args().sections or list(SECTIONS)
    if not {*chosen} <= {*SECTIONS}:
        parser.error(f"sections are {names}; got {chosen}")
    print_sections(SECTIONS, chosen)


if __name__ == "__main__":
    main()
