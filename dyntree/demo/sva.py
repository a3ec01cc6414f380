"""The demonstration of mixtures: a movement is segmented while it is made."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree.api import plots
from dyntree.demo.running import Run, demonstration
from dyntree.encoding.values import Matrix
from dyntree.mixtures import OnlineHDPHSMM
from dyntree.mixtures import Path as StatePath
from dyntree.mixtures.shared.arrays import Ids
from dyntree.runtime.progress import Progress, rows_bar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = np.array([[0.0, 0.0], [4.0, 0.0], [6.4, 3.2], [2.4, 5.6], [-1.6, 3.2]])
STROKES = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (3, 0))  # from point to point
N_STROKES = 75
NOISE = 0.05  # standard deviation, of positions and of halved velocities
LAMBDA = 200.0 * NOISE**2  # strokes are curves: more than compact clusters ask for
NAMES = ("x", "y", "x velocity", "y velocity")


def movement(
    n_strokes: int = N_STROKES, seed: int = 0, noise: float = NOISE
) -> tuple[Matrix, Ids]:
    """Minimum-jerk strokes from point to point, one after the other.

    Parameters
    ----------
    n_strokes : int, default 75
    seed : int, default 0
    noise : float, default 0.05

    Returns
    -------
    rows : ndarray of shape (n_rows, 4)
        Position and half the velocity in units of the stroke's duration, about 40 rows.
    stroke : ndarray of int64 of shape (n_rows,)
        Place in `STROKES`.

    Notes
    -----
    With s from 0 to 1, x = p + (q - p) (10 s^3 - 15 s^4 + 6 s^5) (Flash and Hogan
    1985). From the fourth point the way goes on to the fifth or back to the first.
    """
    rng = np.random.default_rng(seed)
    parts: list[Matrix] = []
    labels: list[int] = []
    at = 0
    for _ in range(n_strokes):
        choices = [k for k, (start, _) in enumerate(STROKES) if start == at]
        stroke = int(rng.choice(choices))
        p, q = POINTS[list(STROKES[stroke])]
        s = np.linspace(0.0, 1.0, max(10, round(rng.normal(40.0, 4.0))))[:, None]
        position = p + (q - p) * (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5)
        velocity = (q - p) * 30.0 * (s**2 - 2.0 * s**3 + s**4)
        parts.append(np.column_stack([position, velocity / 2.0]))
        labels += [stroke] * len(s)
        at = STROKES[stroke][1]
    rows = np.concatenate(parts)
    return rows + noise * rng.normal(size=rows.shape), np.array(labels, dtype=np.int64)


@demonstration
def run(asked: Run) -> dict[str, Any]:
    """Segment a movement, made by `seed`, row by row; segments.png and labels.csv."""
    rows, stroke = movement(seed=asked.seed)
    model = OnlineHDPHSMM(LAMBDA, noise=NOISE, seed=0)
    live, right, seconds = segmented(model, rows, asked.progress)
    model.merge_now()
    path = model.decode(rows)
    summary = summarise(model, rows, stroke, live, path) | {
        "seconds_per_row": seconds,
        "next_state_right": right,
    }
    summary = asked.reported(summary, report(summary))
    write_labels(asked.folder / "labels.csv", stroke, live, path)
    picture(model, rows, path).savefig(asked.folder / "segments.png", dpi=150)
    return summary


def segmented(
    model: OnlineHDPHSMM, rows: Matrix, progress: Progress
) -> tuple[Ids, float, float]:
    """Learn rows one by one: their states, moves predicted, and seconds a row.

    A move is predicted where the state after it was the most probable one to follow,
    by what had been learned before it arrived.
    """
    live = np.empty(len(rows), dtype=np.int64)
    right = n_moves = 0
    seconds = 0.0
    with rows_bar(progress, len(rows), "segmenting") as tell:
        for t, row in enumerate(rows):
            clock = time.perf_counter()
            model.learn_one(dict(zip(NAMES, row.tolist(), strict=True)))
            seconds += time.perf_counter() - clock
            live[t] = model.last_label_
            if t and live[t] != live[t - 1]:
                known = model.clusters().id
                if live[t] in known and live[t - 1] in known:
                    place = int(np.flatnonzero(known == live[t - 1])[0])
                    follows = model.transition_matrix()[place]
                    n_moves += 1
                    right += int(known[follows.argmax()] == live[t])
            tell(1)
    return live, right / max(n_moves, 1), seconds / len(rows)


def owners(path: StatePath, stroke: Ids) -> dict[int, int]:
    """The stroke that most rows of each state belong to."""
    return {
        int(k): int(np.bincount(stroke[path.labels == k]).argmax())
        for k in np.unique(path.labels)
    }


def summarise(
    model: OnlineHDPHSMM, rows: Matrix, stroke: Ids, live: Ids, path: StatePath
) -> dict[str, Any]:
    """Results, as plain numbers."""
    owner, lasted = owners(path, stroke), model.durations()
    owners_of_rows = np.array([owner[k] for k in path.labels.tolist()])
    return {
        "rows": len(rows),
        "lambda": model.lambda_,
        "noise": model.noise,
        "strokes": len(STROKES),
        "states": model.n_clusters,
        "segments_made": int(1 + np.sum(np.diff(stroke) != 0)),
        "segments_decoded": len(path),
        "rows_identified": float(np.mean(owners_of_rows == stroke)),
        "state": lasted.id.tolist(),
        "stroke_of_state": [owner.get(k) for k in lasted.id.tolist()],
        "mean_duration": [round(float(d), 2) for d in lasted.mean],
        "segments_of_state": lasted.count.tolist(),
        "states_ever_live": len(np.unique(live)),
    }


def report(summary: dict[str, Any]) -> str:
    """Return the summary as text."""
    lines = [
        f"{summary['rows']} rows of a movement, learned one by one: "
        f"{summary['segments_made']} strokes of {summary['strokes']} kinds",
        "",
        f"{'states found':<44}{summary['states']:8d}",
        f"{'segments decoded':<44}{summary['segments_decoded']:8d}",
        f"{'rows whose state shows their stroke':<44}{summary['rows_identified']:8.3f}",
        f"{'moves predicted while learning':<44}{summary['next_state_right']:8.3f}",
        f"{'microseconds per row':<44}{1e6 * summary['seconds_per_row']:8.1f}",
        "",
        f"{'state':>8}{'stroke':>8}{'segments':>10}{'mean rows':>11}",
    ]
    columns = ("state", "stroke_of_state", "segments_of_state", "mean_duration")
    for state, kind, count, mean in zip(*(summary[c] for c in columns), strict=True):
        lines.append(f"{state:8d}{kind!s:>8}{count:10d}{mean:11.1f}")
    return "\n".join(lines)


def write_labels(path: Path, stroke: Ids, live: Ids, decoded: StatePath) -> None:
    """One line a row: the stroke made, the state it had live, and the state decoded."""
    import pandas as pd

    columns = {
        "row": np.arange(len(stroke)),
        "stroke": stroke,
        "live": live,
        "decoded": decoded.labels,
    }
    pd.DataFrame(columns).to_csv(path, index=False)


def picture(model: OnlineHDPHSMM, rows: Matrix, path: StatePath) -> Figure:
    """The way of the hand and the states along it; the last segments over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 8), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=(2, 1))
    plots.plot_subspaces(model, rows, ax=above)
    above.set_title(
        f"{model.n_clusters} states, learned while the movement was made;\n"
        "lines: their directions, in brackets: their dimensions"
    )
    above.set_aspect("equal")
    last = slice(-600, None)
    plots.plot_segments(path.labels[last], rows[last], names=NAMES, ax=below)
    below.set_xlabel("row, of the last 600")
    return figure
