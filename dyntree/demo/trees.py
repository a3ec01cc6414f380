"""The demonstration: dynamic trees learn to recognise spam, e-mail by e-mail."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree.datasets import load_spambase
from dyntree.demo.running import Run, demonstration
from dyntree.evaluate import Prequential, compare, prequential
from dyntree.trees.averages.memories import MEMORIES
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.streaming import StreamingTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WINDOW = 500
N_PARTICLES = 500
ORDER_SEED = 0  # the file is sorted by label; this fixes the order of the stream
SCORES = ("error", "auc", "log_loss")


@dataclass(frozen=True)
class Contender:
    """One model of the demonstration, and how it did."""

    title: str
    model: StreamingTree | AveragedStream
    seen: Prequential


@demonstration
def run(asked: Run) -> dict[str, Any]:
    """Stream Spambase through trees that learn on or not; a picture and a table."""
    X, y = shuffled_spambase()
    learning = StreamingTree(
        "class",
        window=WINDOW,
        discard="entropy",
        n_particles=N_PARTICLES,
        classes=(0, 1),
        seed=asked.seed,
    )
    averaged = AveragedStream("class", classes=(0, 1), seed=asked.seed)
    for learner in (learning, averaged):
        learner.update(X[:WINDOW], y[:WINDOW], progress=False)
    models: dict[str, StreamingTree | AveragedStream] = {
        "averaged": averaged,
        "learning on": learning,
        "frozen": learning.copy().freeze(),
    }
    contenders = []
    for title, model in models.items():
        seen = prequential(model, X[WINDOW:], y[WINDOW:], progress=asked.progress)
        contenders.append(Contender(title, model, seen))
    summary = summarise(contenders)
    summary = asked.reported(summary, report(contenders))
    write_predictions(asked.folder / "predictions.csv", contenders)
    picture(contenders).savefig(asked.folder / "prequential.png", dpi=150)
    return summary


def shuffled_spambase() -> tuple[np.ndarray, np.ndarray]:
    """Inputs (4601, 57) and labels (1 = spam) in one fixed random order."""
    frame = load_spambase()
    order = np.random.default_rng(ORDER_SEED).permutation(len(frame))
    y = (frame.pop("type") == "spam").to_numpy(dtype=np.int64)
    return frame.to_numpy(dtype=np.float64)[order], y[order]


def report(contenders: list[Contender]) -> str:
    """Return the table of scores, time and memory."""
    n_rows = contenders[0].seen.scores.n_rows
    lines = [
        f"Spambase, {n_rows} e-mails predicted one by one after the first {WINDOW}",
        f"one cloud of {N_PARTICLES} particles that holds at most {WINDOW} rows, "
        "learning on or frozen,",
        f"beside an average of {len(MEMORIES['class'])} smaller ones; scores in nats",
        "",
        compare({one.title: one.seen for one in contenders}, SCORES),
        "",
        f"{'':<22}{'ms per row':>12}{'memory, kB':>12}",
    ]
    lines += [
        f"{one.title:<22}{1e3 * one.seen.seconds_per_row:12.3f}"
        f"{one.model.memory_usage() / 1e3:12.0f}"
        for one in contenders
    ]
    return "\n".join(lines)


def summarise(contenders: list[Contender]) -> dict[str, Any]:
    """Everything that was printed, as plain numbers."""
    result: dict[str, Any] = {}
    for one in contenders:
        result[one.title.replace(" ", "_")] = {
            **one.seen.to_dict(),
            "memory_bytes": one.model.memory_usage(),
            "seed": one.model.seed,
        }
    return result


def write_predictions(path: Path, contenders: list[Contender]) -> None:
    """One line a row: its place in the stream, its label, each model's P(spam)."""
    import pandas as pd

    first = contenders[0].seen
    columns: dict[str, np.ndarray] = {
        "row": first.rows + WINDOW,
        "spam": first.y.astype(np.int64),
    }
    for one in contenders:
        columns[f"p_{one.title.replace(' ', '_')}"] = one.seen.mean[:, 1]
    pd.DataFrame(columns).to_csv(path, index=False, float_format="%.6f")


def picture(contenders: list[Contender], window: int = 500) -> Figure:
    """Rolling error of each model over the stream, beside the trivial baseline."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    looks = (("-", "black"), ("-.", "tab:blue"), ("--", "tab:orange"))
    for one, (style, colour) in zip(contenders, looks, strict=False):
        error = one.seen.to_dict()["error"]
        axes.plot(
            one.seen.rows[window:] + WINDOW,
            one.seen.rolling(window)[window:],
            style,
            color=colour,
            label=f"{one.title}: {error:.3f} over all",
        )
    trivial = contenders[0].seen.to_dict()["baseline"]["error"]
    label = f"most frequent label: {trivial:.3f}"
    axes.axhline(trivial, linestyle=":", color="gray", label=label)
    axes.set_ylim(0.0, None)
    axes.set_xlabel("e-mails seen")
    axes.set_ylabel(f"share misclassified among the last {window}")
    axes.set_title("Dynamic trees learn Spambase, e-mail by e-mail")
    axes.legend()
    return figure
