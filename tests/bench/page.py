"""The page on performance, made of stored results and of nothing else.

``python -m tests.bench.page`` writes vignettes/performance.md from results.json,
rates.json, floor.txt, growth.txt and profile.txt beside this file, latency.txt of
tests/heavy and averaged.txt of tests/statistical.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NAIVE = "same label as last time"
LINE = re.compile(
    r"  (?P<model>\S.*?) +(?P<value>[\d.]+) +(?P<rate>\d+) rows/s +(?P<size>[\d.]+) MB"
    r"(?P<more>.*)"
)
PAGE = HERE.parent.parent / "vignettes" / "performance.md"
INTRODUCTION = """\
# Performance

What a model costs beside its peers, and where the time goes. All of it is printed by
`python -m tests.bench.compare` (with `--rates` for rows per second), `python -m
tests.bench.profile` and `python -m tests.bench.page`, which wrote this page.

## Beside peers

A ratio of times is the peer's by ours: the median over pairs that took turns, each on
rows of its own, in user CPU seconds of fresh processes on one thread. There are 1000
particles and 2000 rows unless the line says otherwise; rows are those of Friedman's
function of five inputs. Peers are CRAN dynaTree through Rscript, on R's reference BLAS,
and river; lines `... r` run under R's rules and count only where the numbers are R's.
Ratios of fits are of this one size, and grow with the number of rows.

Each line has a target, *asked*, and *met* tells whether the ratio reaches it. *Ours*
and *theirs* are the times, or bytes or instructions, that the ratio is made of;
*load* is what else kept the machine busy. Some lines compare this package with
itself: `exponent` is the slope of log time against log rows from 1000 to 16,000 rows
(*ours* is the time at 16,000, *theirs* at 1000), `instructions` divides those of a
step at row 1,000,000 (*ours*) by those at row 10,000 (*theirs*), and `threads`
divides the wall seconds of one thread (*theirs*) by those of two (*ours*), over more
pairs, which scatter where cores are shared with other machines.

The lines `stream` time one window of 200 rows with constant leaves, and tell nothing of
errors. The next section has error, density, speed and memory of the default stream and
of the same peers in one table.
"""
TOGETHER = """\
## Error, density, speed and memory together

`AveragedStream` with its defaults beside the streaming learners of river, and batch
learners of scikit-learn that are fitted to the last 1000 rows at every hundredth, one
row after the other (`python -m tests.statistical.streams --averaged` says more of the
streams). Density is the mean log density of the response, or minus the log loss of
labels; a dash where a model tells none. Speed is of predicting and learning, in one
thread. Memory is what is held after the last row: it is bounded in ours, and in the
batch learners by their window.
"""
UNMET = """\
## What is not met, and why

A Hoeffding tree is one tree. This takes a row of our stream apart (`python -m
tests.bench.floor`):
"""
FLOOR = """\
Predicting and learning a row are two calls from Python, which take most of what river
spends on its tree's whole row. A hundred particles that are weighed, resampled and
given a move, and nothing more, take more than that row; sums of rows, factors and
evidence are not in it yet, nor the choice of the row that goes. So no change within
these leaves reaches a Hoeffding tree while there are a hundred particles. Tried, and in
the figures: one step for all particles that share a leaf, what each row is worth kept
until its leaf changes, no Python on the way to it. Fewer particles and rows learned in
blocks buy speed.
"""
GROWTH = """\
## As a stream goes on

The lines `instructions` are about steps in which rows retire by chance. These retire by
ALC, the default of regression streams whose evidence does not fade; least and most are
of four streams (`python -m tests.bench.growth`):
"""
CAUSE = """\
ALC comes to hold rows where they tell most, in a part of the input space. Its integral
is over the range of all rows learned, which seldom moves once a stream is under way, so
that only leaves whose posterior the newcomer changed are credited anew, early and late.
What that costs depends on how many rows the distinct leaves hold, in which streams
differ more than rows 10,000 and 1,000,000 of a stream do.
"""
STEPS = """\
## Single steps

A step may take five medians in 99 of 100 cases, and twenty where the cloud looks at its
prior and in 999 of 1000. Clouds that are rejuvenated let their fresh trees grow a part
at each step; all in one step took up to 880 medians (`python -m tests.heavy.latency`):
"""
TAIL = """\
The latest steps of a thousand take twelve medians at most. Of a hundred they take up to
six, where five were meant, and the reason is the median. Splits of a leaf are proposed
while it holds twice `min_leaf` rows. Leaves of linear streams are few and large: where
the window is small beside the cloud, or rows go by ALC, which lets them gather in a
corner of the inputs, most newcomers meet leaves that hold fewer rows or none, and cost
little. The others have splits proposed for all particles. Such steps are not slow in
themselves: 99 % take about twice as long as in the constant stream of that size.

By ALC, learning the row alone takes two to three medians of the whole step (99 % of the
last line beside the third line), and the other steps spend most of their median on a
visit of all trees for the choice (the medians of the two lines). What is left within
five medians is for the credit of the rows in the leaves that the newcomer changed,
which ALC needs.

Four ways to spare work were built and left. To credit only rows that may be worth least
by what is known of them, who must be found, and to credit by inner products with what a
row adds to sums, fewer instructions of which each waits for the one before, took as
long. Vectors of four doubles (AVX2) have the same bits and took less in such steps, but
not over a stream. To look at large leaves less often, all at once where they hold the
same rows, makes medians fall with the rest, so that the ratio stays above five at
an eighth of the looks, and makes constant leaves worse. What was kept, judging cuts and
prunes side by side and splits for all leaves with the same rows, made late steps
shorter, and medians with them.
"""
RATES = """\
## Rows per second

Rows of Friedman's function that one core learns per second, after two windows.
"""
PROFILE = """\
## Where the instructions go

Of a function itself, without what it calls. In the design that the core follows, as it
was measured, a step with constant leaves spends 48 % on deciding (scans and sums), 21 %
on copies of paths, 11 % on weights and 11 % on adoption; with linear leaves deciding
and copying take 61 %. What stands above 10 % here is the work itself: rows between cuts
are summed (`sum_below`, of class leaves), splits judged (`factor_four`, of linear
ones), rows taken through a leaf's factor (`predict_lanes`), roots of mixture cdfs found
(`quantiles`). In streams by ALC it is also the credit of the rows in the leaves that
the newcomer changed, two products with a triangle for each (`explain_four`), one visit
of each distinct split, which finds how many particles hold a leaf (`RowCredit_reach`),
and the sums of credit (`RowCredit_reach_leaf`); with class leaves, drawing numbers.
Leaves that hold the same rows share passes over them. Loops over small triangles are
written out for each size, since counters took more of them than sums. Updates of rank
one would make the credit of a row linear in the number of columns, and running totals
would spare most visits; both let rounding add up from row to row, and a sum would no
longer equal one taken afresh.
"""
MIXTURES = """
## Mixtures

`python -m tests.bench.sva` prints what the mixtures find beside their targets, and
rows per second beside their peers in the same run; the last page is
[`tests/bench/sva.txt`](../tests/bench/sva.txt). With ten clusters in ten columns,
on a core beside other work: `OnlineDPGMM.update` learns 8 to 11 million rows a second,
34 times as many as `MiniBatchKMeans.partial_fit` on blocks of 256 and 9 times on blocks
of 1024; one dict at a time .7 million, 8 times river's fastest clusterer;
`OnlineDPMPPCA` 4 million, 9 and 3 times `IncrementalPCA`, which fits one subspace.
`OnlineHDPHSMM` learns 5 million rows a second of five states in six columns.
Viterbi with durations to 100 rows decodes 1.6 million rows a second of ten states,
as many as hmmlearn's does without durations.

`python -m tests.bench.ddp` does the same for dependent mixtures; its last page is
[`tests/bench/ddp.txt`](../tests/bench/ddp.txt). `DependentDPMixture` redraws 11 million
labels a second of five particles in two columns, 300 times as many as a collapsed Gibbs
sampler in NumPy over all particles at a time, and 9 million of ten particles in ten
columns, 230 times. 80 phases of 200 rows a cluster take .64 seconds of a busy core with
60 sweeps a phase.

## Defaults beside peers

`python -m tests.bench.companions` runs mixtures, topics and neighbours with their
defaults beside scikit-learn, river, hmmlearn, gensim, tomotopy, SciPy and faiss, three
seeds each, and prints a table a scene; the last ones are
[`tests/bench/companions.txt`](../tests/bench/companions.txt). Why the defaults are what
they are, the pages on mathematics tell. In short:

| scene | ours | peers |
|---|---|---|
| 10, 20 blobs in a line: ARI | 1.00 (A, B) | 1.00 HDBSCAN, .1 to .7 Bayesian |
| 20 of them along one of ten columns | 1.00 (A, B) | .94 k-means, .93 diagonal |
| wine: ARI and nats a row | .92 and -14.1 (B) | .85 and -16.3 full |
| breast cancer | .69 and -1.4 (B) | .77 and -6.3 full |
| digits' pixels | .29 and 109 (C) | .50 and 103 diagonal |
| `forget=.04`, 20 blobs: ARI | 1.00 (A) | .30 DBSTREAM, .89 DenStream |
| ten nearest, 64 columns, own dimension 3 | 30 us (D) | 65 cKDTree, 170 faiss |
| the same, own dimension 64 | 1,900 us (D) | 3,700 cKDTree, 215 faiss |

A: `OnlineDPGMM`, B: `DependentDPMixture(GaussianUnknown())`, C: `Canopy(10)`, D:
`CoverTree`. Of scikit-learn `BayesianGaussianMixture`, and with K given
`MiniBatchKMeans` and `GaussianMixture`; faiss' flat index.

In breast cancer B has three clusters of over 1 % of the rows, and four or five of a few
rows that lie far out; the classes of digits it does not find. A cover tree pays where
columns are many and the own dimension is low.

## Topics

`python -m tests.bench.hdp` prints what topic models find beside their targets and
peers; the last pages are [`tests/bench/hdp.txt`](../tests/bench/hdp.txt). One sweep
over 60,000 points in five columns at 80 topics takes 22 ms on one core. A stream of
435 images (313,200 points, 224 topics) takes 22 seconds and rests in 1 MB. Batch
learning of 240 news items takes about as long as tomotopy's 1,000 Gibbs sweeps (8 and
10 CPU seconds of a busy machine; gensim's `HdpModel` 32).

Where an epoch goes: sweeps, whose products of matrices and exponentials run in tiles
that a BLAS library does not cut into threads; halving of parts, most of all in
compression, which takes 8 % of an epoch at 224 topics and 20 % at 85.

## Large mixtures

`python -m tests.bench.canopy` prints what mixtures of very many components cost beside
exact draws, scikit-learn's EM and faiss' k-means; the last figures are
[`tests/bench/canopy.txt`](../tests/bench/canopy.txt).
"""


def verdict(row: dict[str, Any]) -> str:
    """Whether a line is met, or that its numbers differ from the peer's."""
    if not row["same_numbers"]:
        return "numbers differ"
    return "yes" if row["met"] else "no"


def lines_table(rows: list[dict[str, Any]]) -> list[str]:
    out = ["| work | ratio | asked | met | ours | theirs | unit | pairs, load |"]
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


def streams_table(text: str) -> list[str]:
    """What averaged.txt says, a row for each stream and model; the best error bold."""
    out = ["| stream | model | error | density | rows a second | MB |"]
    out.append("|---|---|---|---|---|---|")
    for block in text.split("\n\n")[1:]:
        title, *rest = block.splitlines()
        stream, _, measure = title.rpartition(": ")
        stream = re.sub(r"(, [\d,]+ rows)(.*)\1$", r"\1\2", stream)  # told twice
        found = [match for line in rest if (match := LINE.fullmatch(line))]
        values = [float(match["value"]) for match in found]
        if not found:
            continue
        best = max(values) if measure == "auc" else min(values)
        for match, value in zip(found, values, strict=True):
            told = re.search(r"(log density|log loss) (-?[\d.]+)", match["more"])
            sign = -1.0 if told and told[1] == "log loss" else 1.0
            density = f"{sign * float(told[2]):.2f}" if told else "-"
            error = f"{value:.4f}".rstrip("0")
            rate = f"{float(match['rate']):,.0f}" if match["model"] != NAIVE else "-"
            out.append(
                f"| {stream}: {measure} | {match['model']} "
                f"| {f'**{error}**' if value == best else error} | {density} | {rate} "
                f"| {float(match['size']):.3g} |"
            )
            stream, measure = "", ""
    return [line.replace("| :  |", "| |") for line in out]


def taken(rows: list[dict[str, Any]]) -> str:
    """Days and versions of the rows, in a sentence."""
    days = sorted({row["date"] for row in rows})
    named = {
        f"{name} {version}"
        for row in rows
        for name, version in row["versions"].items()
        if name in ("dyntree", "numpy", "dynaTree", "R", "river")
        and version != "absent"
    }
    return f"Taken {' and '.join(days)} with {', '.join(sorted(named))}."


def stored(name: str) -> list[str]:
    """A file beside this one, as it stands."""
    return ["```", (HERE / name).read_text().rstrip(), "```"]


def page() -> str:
    """The text of the page."""
    results = json.loads((HERE / "results.json").read_text())
    rates = json.loads((HERE / "rates.json").read_text())
    parts = [INTRODUCTION, *lines_table(results), "", taken(results), ""]
    averaged = (HERE / "../statistical/averaged.txt").read_text()
    parts += [TOGETHER, *streams_table(averaged), ""]
    parts += [UNMET, *stored("floor.txt"), "", FLOOR]
    parts += [GROWTH, *stored("growth.txt"), "", CAUSE]
    parts += [STEPS, *stored("../heavy/latency.txt"), "", TAIL]
    parts += [RATES, *rates_table(rates), "", taken(rates), ""]
    parts += [PROFILE, *stored("profile.txt"), MIXTURES]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
