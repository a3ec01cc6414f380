"""The page on performance, made of stored results and of nothing else.

``python -m tests.bench.page`` writes vignettes/performance.md from results.json,
rates.json and the text files beside this file, and from latency.txt of tests/heavy.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.bench.companion_tables import stored_tables

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "vignettes" / "performance.md"
INTRODUCTION = """\
# Performance

This page compares the cost of the models with other packages, and shows where the time
goes. The figures are printed by `python -m tests.bench.compare` (with `--rates` for
rows per second) and `python -m tests.bench.profile`. The page itself is written by
`python -m tests.bench.page`.

## Comparison with other packages

A ratio of times is the time of the peer divided by ours. It is the median over pairs of
runs that alternate, each pair on its own rows, in user CPU seconds of fresh processes
on one thread. There are 1000 particles and 2000 rows unless the line says otherwise.
The rows come from Friedman's function of five inputs. The peers are CRAN dynaTree
through Rscript, with R's reference BLAS, and river. Lines `... r` run under R's rules
and count only if the numbers equal R's. Ratios of fits hold for this one size, and grow
with the number of rows.

Each line has a *target*, and *met* shows whether the ratio reaches it. *Ours*
and *theirs* are the times, bytes or instructions from which the ratio is computed.
*Load* is the load of the machine by other processes. Some lines compare this package
with itself: `exponent` is the slope of log time against log rows from 1000 to 16,000
rows (*ours* is the time at 16,000, *theirs* at 1000), `instructions` divides those of a
step at row 1,000,000 (*ours*) by those at row 10,000 (*theirs*), and `threads` divides
the wall seconds of one thread (*theirs*) by those of two (*ours*), over more pairs,
because these vary if cores are shared with other machines.

The lines `stream` time one window of 200 rows with constant leaves, and do not measure
errors. Errors, densities, speed and memory of the default beside other packages are on
the pages on [streams](streams.md) and [tables](tables.md).
"""
ROWS = """\
## A row of the default

The following output is of rows that are predicted and then learned one by one
(`python -m tests.bench.rows`). The default is an average of 15 small clouds and ten
random trees for numbers, and of ten clouds, two forests and two regressions for labels.
Clouds of numbers have 5 to 30 particles each. `AveragedStream("linear")` and
`AveragedStream("constant")` have seven clouds of 100 particles, and are slower for that
reason. `members="light"` and `"fast"` are smaller sets. CapyMOA's adaptive forest of
ten trees takes about 100 microseconds for a row with a number, and 50 to 650 for one
with a label (`tests/statistical/unseen/moa.txt`).
"""
UNMET = """\
## Targets that are not met, and why

A Hoeffding tree is a single tree. The following output divides the time for one row of
our stream into its parts (`python -m tests.bench.floor`):
"""
FLOOR = """\
Predicting and learning a row are two calls from Python, which take most of the time
that river needs for a whole row of its tree. Weighting, resampling and moving a hundred
particles, without any other work, already take longer than that row. This does not yet
include sums of rows, factors, evidence, or the choice of the row to discard. So no
change within these leaves can match a Hoeffding tree as long as there are a hundred
particles. Three improvements were made and are included in the figures: one step serves
all particles that share a leaf, the value of each row is stored until its leaf changes,
and no Python code runs on the way to it. Fewer particles, and rows learned in blocks,
are faster.
"""
GROWTH = """\
## As a stream goes on

In the lines `instructions`, rows retire at random. In the following output they retire
by ALC, the default for regression streams whose evidence does not fade. Least and most
are over four streams (`python -m tests.bench.growth`):
"""
CAUSE = """\
ALC keeps the most informative rows, in a part of the input space. Its integral is over
the range of all rows learned, which seldom changes once a stream is under way. So at
any time only those leaves are credited again whose posterior the new row changed. The
cost depends on how many rows the distinct leaves hold. In this, streams differ more
from one another than rows 10,000 and 1,000,000 of one stream do.
"""
STEPS = """\
## Single steps

The targets are that 99 of 100 steps take at most five times the median, and that 999 of
1000 steps, and steps in which the cloud checks its prior, take at most twenty times the
median. In clouds that are rejuvenated, a part of each new tree grows at each step.
Growing all of them in one step took up to 880 medians (`python -m
tests.heavy.latency`):
"""
TAIL = """\
The slowest of a thousand steps take twelve medians at most. The slowest of a hundred
take up to six, where the target is five. The reason is the low median. Splits of a leaf
are proposed if it holds twice `min_leaf` rows. Linear streams have few, large leaves.
If the window is small compared with the cloud, or if rows are discarded by ALC, which
lets rows gather in a corner of the inputs, most new rows reach leaves with fewer rows
or none, and cost little. For the other rows, splits are proposed for all particles.
Such steps are not slow in themselves: 99 % take about twice as long as in the constant
stream of that size.

With ALC, learning the row alone takes two to three medians of the whole step (compare
99 % of the last line with the third line). The other steps spend most of their median
on a visit of all trees for the choice (the medians of the two lines). The rest of the
five medians remains for the credit of the rows in the leaves that the new row changed,
which ALC needs.

Four ways to save work were implemented and rejected. The first credits only rows that
may have the lowest value, but these rows must be found first; it took as long as
before. The second computes the credit by inner products with the terms that a row adds
to the sums. It needs fewer instructions, but each waits for the one before, and it took
as long, too. The third uses vectors of four doubles (AVX2). It gives the same bits and
was faster in such steps, but not over a whole stream. The fourth checks large leaves
less often, together if they hold the same rows. It lowers medians with the rest, so
that the ratio stays above five at an eighth of the checks, and it makes constant leaves
worse. Two changes stand: cuts and prunes are evaluated side by side, and splits are
evaluated together for all leaves with the same rows. They made the slowest steps
shorter, and medians with them.
"""
RATES = """\
## Rows per second

The table shows how many rows of Friedman's function one core learns per second, after
two windows.
"""
PROFILE = """\
## Where the instructions go

Each figure is the share of a function itself, without the functions that it calls. In
the measured design on which the core is based, a step with constant leaves spends 48 %
on deciding (scans and sums), 21 % on copies of paths, 11 % on weights and 11 % on
adoption. With linear leaves, deciding and copying take 61 %. The functions above 10 %
here do the work itself: they sum rows between cuts (`sum_below`, for class leaves),
evaluate splits (`factor_four`, for linear leaves), multiply rows by the factor of a
leaf (`predict_lanes`), and find roots of mixture cdfs (`quantiles`). In streams with
ALC there are three more: the credit of the rows in the leaves that the new row changed,
with two triangular products for each (`explain_four`); one visit of each distinct
split, which counts the particles that hold a leaf (`RowCredit_reach`); and the sums of
credit (`RowCredit_reach_leaf`). With class leaves, drawing random numbers is one more.
Leaves that hold the same rows share passes over them. Loops over small triangles are
unrolled for each size, because loop counters took longer than the sums. Updates of rank
one would make the credit of a row linear in the number of columns, and running totals
would avoid most visits. With both, rounding errors would accumulate from row to row,
and a sum would no longer equal one that is computed from scratch.
"""
MIXTURES = """
## Mixtures

`python -m tests.bench.sva` prints the results of the small-variance mixtures next to
their targets and to those of peers in the same run
([`tests/bench/sva.txt`](../tests/bench/sva.txt)). Its last section is on speed:
"""
DEPENDENT = """
`python -m tests.bench.ddp` does the same for dependent mixtures
([`tests/bench/ddp.txt`](../tests/bench/ddp.txt)):
"""
DEFAULTS = """
## Defaults compared with other packages

`python -m tests.bench.companions` compares mixtures, topics and nearest neighbours at
their defaults with scikit-learn, river, hmmlearn, gensim, tomotopy, SciPy and faiss
([`tests/bench/companions.txt`](../tests/bench/companions.txt)). The tables show means
over three seeds. K is given to `CanopyMixture`, `GaussianMixture` and
`MiniBatchKMeans`. The adjusted Rand index (ARI) is 1 where clusters are those that were
drawn, or the classes of a table:
"""
HELD_OUT = "\nThe log density of rows held out, in nats a row:\n"
STREAMED = "\nThe ARI of rows held out of streams, which are learned in batches:\n"
FORGETTING = "\nThe ARI of the last 500 rows of lasting blobs, in models that forget:\n"
NEAREST = """
A query of the ten nearest among 20,000 rows, in microseconds. The dimension of the rows
themselves may be less than the number of columns:
"""
TOPICS = """
A cover tree is useful if there are many columns and the rows' own dimension is low.

## Topics

`python -m tests.bench.hdp` prints the results of topic models next to their targets and
peers ([`tests/bench/hdp.txt`](../tests/bench/hdp.txt)). Most of an epoch is spent on
two things. The first is sweeps, whose matrix products and exponentials run in tiles
that a BLAS library does not divide among threads. The second is the halving of parts,
mainly in compression.

## Large mixtures

`python -m tests.bench.canopy` compares the cost of mixtures with very many components
with that of exact draws, scikit-learn's EM and faiss' k-means; the last figures are
[`tests/bench/canopy.txt`](../tests/bench/canopy.txt).
"""


def verdict(row: dict[str, Any]) -> str:
    """Whether a line is met, or that its numbers differ from the peer's."""
    if not row["same_numbers"]:
        return "numbers differ"
    return "yes" if row["met"] else "no"


def lines_table(rows: list[dict[str, Any]]) -> list[str]:
    out = ["| work | ratio | target | met | ours | theirs | unit | pairs, load |"]
    out.append("|---|---|---|---|---|---|---|---|")
    for row in rows:
        asked = f"{'at most' if row['at_most'] else 'at least'} {row['target']:g}"
        cells = [
            row["work"],
            f"{row['ratio']:g}",
            asked,
            verdict(row),
            f"{row['ours']:.3g}",
            f"{row['theirs']:.3g}",
            row["unit"],
            f"{row['pairs']}, {row['load']:g}",
        ]
        out.append(f"| {' | '.join(cells)} |")
    return out


def rates_table(rows: list[dict[str, Any]]) -> list[str]:
    out = ["| leaves | particles | window | rows per second |", "|---|---|---|---|"]
    out += [
        f"| {row['model']} | {row['particles']} | {row['window']} "
        f"| {row['rows_per_second']:,.0f} |"
        for row in rows
    ]
    return out


def taken(rows: list[dict[str, Any]]) -> str:
    """Days and versions of the rows, in a sentence."""
    days = sorted({row["date"] for row in rows})
    named = {
        f"{name} {version}"
        for row in rows
        for name, version in row["versions"].items()
        if name in ("numpy", "dynaTree", "R", "river") and version != "absent"
    }
    return f"Taken {' and '.join(days)} with {', '.join(sorted(named))}."


def stored(name: str) -> list[str]:
    """A file beside this one, as it stands."""
    return ["```", (HERE / name).read_text().rstrip(), "```"]


def section(name: str, title: str) -> list[str]:
    """The lines of a stored file from a title to the next numbered one."""
    lines = (HERE / name).read_text().splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith(title))
    rest = lines[first + 1 :]
    ends = (k for k, line in enumerate(rest) if re.match(r"\d+\.", line))
    return ["```", *rest[: next(ends, len(rest))], "```"]


def scenes(measure: str, beside: str = "K") -> list[str]:
    """A measure of companions.txt: a row for each scene, a column for each model.

    Scenes are those that have this measure and the one `beside` it, if any. Cells are
    means over seeds.
    """
    table = {
        title: {name: cells[measure] for name, cells in models.items()}
        for title, models in stored_tables(HERE / "companions.txt").items()
        if all({measure, beside} <= {*cells, ""} for cells in models.values())
    }
    models = list(dict.fromkeys(name for row in table.values() for name in row))
    out = [f"| scene | {' | '.join(models)} |", "|---" * (len(models) + 1) + "|"]
    out += [
        f"| {title} | {' | '.join(row.get(name, '') for name in models)} |"
        for title, row in table.items()
    ]
    return out


def page() -> str:
    """The text of the page."""
    results = json.loads((HERE / "results.json").read_text())
    rates = json.loads((HERE / "rates.json").read_text())
    parts = [INTRODUCTION, *lines_table(results), "", taken(results), ""]
    parts += [ROWS, *stored("rows.txt"), ""]
    parts += [UNMET, *stored("floor.txt"), "", FLOOR]
    parts += [GROWTH, *stored("growth.txt"), "", CAUSE]
    parts += [STEPS, *stored("../heavy/latency.txt"), "", TAIL]
    parts += [RATES, *rates_table(rates), "", taken(rates), ""]
    parts += [PROFILE, *stored("profile.txt")]
    parts += [MIXTURES, *section("sva.txt", "7. rows per second")]
    parts += [DEPENDENT, *section("ddp.txt", "8. label updates")]
    parts += [DEFAULTS, *scenes("ARI"), HELD_OUT, *scenes("held out", "ARI")]
    parts += [STREAMED, *scenes("ARI held out"), FORGETTING]
    parts += [*scenes("ARI of the last 500"), NEAREST, *scenes("us a query", "")]
    parts += [TOPICS]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
