"""The page on mixtures, made of companions.txt and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.bench.companion_tables import stored_tables

from .markup import markdown

HERE = Path(__file__).parent
Models = Mapping[str, Mapping[str, str]]  # model -> column -> cell
OPEN = (  # learners that find the number of clusters themselves
    "DPGMMClusterer", "DPMPPCAClusterer", "DependentDPClusterer",
    "BayesianGaussianMixture", "HDBSCAN",
)  # fmt: skip
LIMIT = 0.05  # nats a row from which a density counts as behind
AUTO = "HDPHSMMClusterer, emission auto"
LAST = ", the last fifth after the others"  # what titles of series end with
HMM = "hmmlearn GaussianHMM"
TOPICS, TOMOTOPY = "MemoryBoundedHDP", "tomotopy HDPModel"
QUESTIONS = (  # question, model, its class in scikit-learn's face
    (
        "Which clusters does a table have, and how many?",
        "`DependentDPMixture`",
        "`DependentDPClusterer`",
    ),
    (
        "Clusters that are born, move and die from phase to phase",
        "`DependentDPMixture`, or the faster `DynamicMeans`",
        "`DependentDPClusterer`, `DynamicMeansClusterer`",
    ),
    (
        "Clusters of a fast stream, a row at a time, without random numbers",
        "`OnlineDPGMM`",
        "`DPGMMClusterer`",
    ),
    (
        "The same where clusters are flat or columns many",
        "`OnlineDPMPPCA`",
        "`DPMPPCAClusterer`",
    ),
    (
        "Segments of a sequence, how long they last and what follows",
        "`OnlineHDPHSMM`",
        "`HDPHSMMClusterer`",
    ),
    (
        "Topics of texts or images, in a bounded memory",
        "`MemoryBoundedHDP`",
        "`MemoryBoundedTopics`",
    ),
    ("Thousands of components", "`Canopy`", "`CanopyMixture`"),
    ("A movement for another place", "`TaskParameterizedMixture`", ""),
)
PAGE = """\
# Which mixture for which rows?

This page is written by `python -m tests.statistical.unseen.page` from stored results.
No default was chosen on these data.

## Which model answers which question

{questions}

## Verdicts

- **Nothing is known of the rows.** Use `DependentDPMixture()`. Of the learners here
  that find the number of clusters themselves, it has the best mean rank over the
  {n_scenes} sets below: {rank_ari} in the adjusted Rand index ({others_ari}), and
  {rank_density} in the log density of rows held out ({others_density}).
- **The fast models** are `DPGMMClusterer` and `DPMPPCAClusterer`. Clusters of the first
  are round, and a new one costs the same everywhere. Of {n_tables} tables without
  classes, its density is more than .05 nats a row behind that of scikit-learn's
  diagonal mixture of as many components on {behind_dpgmm}, and that of the second on
  {behind_mppca}. Where clusters differ much in spread, or most columns are noise, both
  models join clusters.
- **Streams.** The best adjusted Rand indices are {best_streams}.
- **Sequences.** `HDPHSMMClusterer()` finds the states that were drawn with an adjusted
  Rand index of {states} ({states_peer} for a hidden Markov model that knows their
  number). Of series without such states it predicts {ahead} of {n_series} better than
  a hidden Markov model whose number of states has the lowest BIC. It is behind on
  {behind_series}. Its states differ in place or direction; those of returns differ in
  spread alone.
- **Texts.** `MemoryBoundedHDP("multinomial")` predicts words better than the three
  others on {best_texts} of {n_texts} collections. It is not the best on
  {lost_texts}: there, 600 words of 250 kinds are too few for topics, and the prior of
  the words matters most.

## Clusters

Three seeds; a fifth of the rows is held out. K, the number of clusters, is known to
`CanopyMixture`, `GaussianMixture` and `MiniBatchKMeans` alone. Sets whose names have
classes are tables of R; the others are drawn. The adjusted Rand index is 1 where
clusters are those that were drawn, or the classes of the table:

{ari}

The mean log density of rows held out, in nats a row:

{density}

Tables without classes. The log density of each model, and of scikit-learn's diagonal
mixture of as many components:

{tables}

## Streams

Learned in batches of a thousand rows; river's learners a row at a time. K is known to
`CanopyMixture` and river's KMeans alone, and the radius of a cluster to river's
DBSTREAM and DenStream. The adjusted Rand index of rows held out, and rows a second:

{streams}

## Sequences

Sequences whose states were drawn: the adjusted Rand index of the states that the model
decodes, their number with each of three seeds, the mean log density of a row held out,
and seconds of the processor. `emission` is the law of the rows of a state.

{sequences}

Series of R, each a single sequence whose last fifth is predicted from the others: the
mean log density of a row, and the number of states.

{series}

## Texts

The mean log probability of the words held out of documents, the coherence of the 15
largest topics (NPMI), the number of topics with more than 1 % of the words with each of
three seeds, and seconds of the processor:

{texts}

## What next

[Segments of a movement](sva.md), [clusters that move](ddp.md), [images](hdp_images.md),
[texts](hdp_text.md) and [large mixtures](canopy.md) show each model at work, and
[performance](performance.md) how fast they are.
"""


def number(cell: str | None) -> float | None:
    """A cell as a number, if it is one."""
    try:
        return float((cell or "").replace(",", ""))
    except ValueError:
        return None


def mean_ranks(scenes: Mapping[str, Models], column: str) -> dict[str, float]:
    """Mean ranks of the open learners that have a column in all scenes, best first."""
    scores = {
        name: [number(models.get(name, {}).get(column)) for models in scenes.values()]
        for name in OPEN
    }
    known = {name: row for name, row in scores.items() if None not in row}
    table = np.array([*known.values()], dtype=np.float64)
    better = (table[None, :] > table[:, None]).sum(axis=1)
    ties = (table[None, :] == table[:, None]).sum(axis=1) - 1
    ranks = (1 + better + ties / 2).mean(axis=1).tolist()
    return dict(sorted(zip(known, ranks, strict=True), key=lambda pair: pair[1]))


def first_and_others(ranks: Mapping[str, float]) -> tuple[str, str]:
    """The rank of our first choice, and those of the others, best first."""
    rest = [f"{name} {rank:.1f}" for name, rank in ranks.items()
            if name != "DependentDPClusterer"]  # fmt: skip
    return f"{ranks['DependentDPClusterer']:.1f}", ", ".join(rest)


def by_model(scenes: Mapping[str, Models], column: str, what: str) -> str:
    """One column of all scenes, a model beside the other; the best is bold."""
    names = list(dict.fromkeys(name for models in scenes.values() for name in models))
    has = [name for name in names
           if any(number(models.get(name, {}).get(column)) is not None
                  for models in scenes.values())]  # fmt: skip
    rows = []
    for title, models in scenes.items():
        cells = [models.get(name, {}).get(column, "") for name in has]
        best = max(value for value in map(number, cells) if value is not None)
        rows.append([title, *(bold(cell, number(cell) == best) for cell in cells)])
    return markdown([what, *has], rows)


def bold(cell: str, is_best: bool) -> str:
    """A cell, which stands out if it is the best."""
    return f"**{cell}**" if is_best else "" if cell == "-" else cell


def by_row(scenes: Mapping[str, Models], what: str, columns: Sequence[str]) -> str:
    """Some columns of all scenes, a line for each model."""
    rows = [
        [title if not k else "", name, *(cells[column] for column in columns)]
        for title, models in scenes.items()
        for k, (name, cells) in enumerate(models.items())
    ]
    return markdown([what, "model", *columns], rows, n_text=2)


def having(tables: Mapping[str, Models], *columns: str) -> dict[str, Models]:
    """Tables of which all lines have some columns."""
    return {
        title: models
        for title, models in tables.items()
        if all({*columns} <= {*cells} for cells in models.values())
    }


def listed(names: Sequence[str]) -> str:
    """Titles without their sizes, as a list."""
    return ", ".join(name.split(":")[0] for name in names) or "none"


def mean_of(scenes: Mapping[str, Models], name: str, column: str) -> str:
    """Mean of a model's column over scenes."""
    rows = [
        next(row for model, row in models.items() if model.startswith(name))
        for models in scenes.values()
    ]
    cells = [number(row[column]) for row in rows]
    return f"{np.mean([cell for cell in cells if cell is not None]):.2f}"


def best_of(scenes: Mapping[str, Models], column: str) -> str:
    """The best models of each scene, with their scores, as a list."""
    best = []
    for title, models in scenes.items():
        scores = {name: number(cells[column]) or 0.0 for name, cells in models.items()}
        most = max(scores.values())
        names = ", ".join(name for name in scores if scores[name] == most)
        best.append(f"{most:.2f} on {title.split(':')[0]} ({names})")
    return ", ".join(best)


def is_first(models: Models, name: str, column: str) -> bool:
    """Whether no other model has a larger number in a column."""
    scores = {model: number(cells[column]) for model, cells in models.items()}
    first = next(score for model, score in scores.items() if model.startswith(name))
    return first == max(score for score in scores.values() if score is not None)


def mixtures_page() -> str:
    """The text of the page, before its lines are filled."""
    tables = stored_tables(HERE / "companions.txt")
    clusters = having(tables, "ARI", "over 1 %")
    (densities,) = having(tables, "DPGMM", "MPPCA: diag").values()
    (behind,) = having(tables, "tables", "behind").values()
    states = having(tables, "ARI decoded")
    series = {title.removesuffix(LAST): models for title, models in tables.items()
              if title.endswith(LAST)}  # fmt: skip
    texts = having(tables, "NPMI, 15")
    streams = having(tables, "ARI held out")
    ari, density = mean_ranks(clusters, "ARI"), mean_ranks(clusters, "held out")
    rank_ari, others_ari = first_and_others(ari)
    rank_density, others_density = first_and_others(density)
    lost = [title for title, models in series.items()
            if is_first(models, HMM, "held out")]  # fmt: skip
    lost_texts = [title for title, models in texts.items()
                  if not is_first(models, TOPICS, "held out")]  # fmt: skip
    return PAGE.format(
        n_scenes=len(clusters), rank_ari=rank_ari, others_ari=others_ari,
        rank_density=rank_density, others_density=others_density,
        n_tables=len(densities), behind_dpgmm=behind["DPGMM"]["behind"],
        behind_mppca=behind["MPPCA"]["behind"],
        states=mean_of(states, AUTO, "ARI decoded"),
        states_peer=mean_of(states, HMM, "ARI decoded"),
        best_streams=best_of(streams, "ARI held out"),
        n_series=len(series), ahead=len(series) - len(lost), behind_series=listed(lost),
        n_texts=len(texts), best_texts=len(texts) - len(lost_texts),
        lost_texts=listed(lost_texts), ari=by_model(clusters, "ARI", "rows"),
        density=by_model(clusters, "held out", "rows"),
        tables=markdown(
            ["table", "DPGMM", "diagonal", "MPPCA", "diagonal"],
            ([title, *(cells[column] for column in
              ("DPGMM", "DPGMM: diag", "MPPCA", "MPPCA: diag"))]
             for title, cells in densities.items()),
        ),
        streams=by_row(streams, "stream", ["ARI held out", "rows/s"]),
        sequences=by_row(states, "states", ["ARI decoded", "K", "held out", "CPU s"]),
        series=by_row(series, "series", ["held out", "K"]),
        texts=by_row(
            texts, "texts", ["held out", "NPMI, 15", "topics over 1 %", "CPU s"]
        ),
        questions=markdown(["question", "model", "in scikit-learn"], QUESTIONS, 3),
    )  # fmt: skip
