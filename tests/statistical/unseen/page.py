"""The pages on streams, tables and mixtures, made of stored results and nothing else.

``python -m tests.statistical.unseen.page`` writes vignettes/streams.md, tables.md and
mixtures.md from the results in this folder, and from averaged.txt for memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .markup import filled, markdown
from .mixtures_page import mixtures_page
from .peers import LEAST

HERE = Path(__file__).parent
PAGES = HERE.parents[2] / "vignettes"
PEER = re.compile(r"([A-Za-z]\w*) ([\d.e+-]+) \(([^)]*)\)")
CELL = re.compile(r"((?:peer )?[A-Za-z]+(?: leaves)?) ([\d.e+-]+) \((-?[\d.]+)\)")
MEMORY = re.compile(r"  (\S.*?) +[\d.]+ +(?:[\d.]+|-) rows/s +([\d.]+) MB")
STREAM_PEERS = {  # how pages call what the results call otherwise
    "ARF": "river ARF, 10", "AMF": "river AMF, 10", "SRP": "river SRP, 10",
    "HAT": "river HAT", "SGD": "river linear", "softmax": "river linear",
    "LightGBM": "LightGBM, window", "ARFR10": "CapyMOA ARF, 10",
    "ARFR30": "CapyMOA ARF, 30", "ARF10": "CapyMOA ARF, 10", "ARF30": "CapyMOA ARF, 30",
    "SOKNL": "CapyMOA SOKNL", "SRP10": "CapyMOA SRP, 10", "SGBR": "CapyMOA boosting",
    "SGBT": "CapyMOA boosting", "VW": "Vowpal Wabbit", "last": "last response",
}  # fmt: skip
TABLE_PEERS = {
    "peer linear": "linear", "peer forest": "forest", "peer boosting": "boosting",
    "peer gp": "Gaussian process", "peer BART": "BART",
}  # fmt: skip
MISSING = 0.0, None, None  # of a peer that was not run
LEAVES = "default", "linear", "constant"
CLOSE, FAR = 1.03, 1.10  # ratios to the best peer that count as a tie, and as behind


@dataclass
class Result:
    """What was stored of a stream or a table.

    Attributes
    ----------
    name : str
    error : float
        Of the default; of a stream, with the first seed.
    density : float
        Mean log density, or minus the log loss.
    coverage : float or None
        Of intervals of 90 %.
    seconds : float or None
        A row, in microseconds.
    peers : dict of (float, float or None, float or None)
        Error, density and microseconds a row of each.
    of_leaves : dict of float
        Errors with one kind of leaf.
    """

    name: str
    error: float
    density: float
    coverage: float | None
    seconds: float | None
    peers: dict[str, tuple[float, float | None, float | None]]
    of_leaves: dict[str, float] = field(default_factory=dict)

    @property
    def best(self) -> tuple[str, float]:
        """The best peer, which is picked afterwards, and its error."""
        name = min(self.peers, key=lambda peer: self.peers[peer][0])
        return name, self.peers[name][0]

    @property
    def ratio(self) -> float:
        """Error by that of the best peer, each at least `LEAST`."""
        return max(self.error, LEAST) / max(self.best[1], LEAST)

    @property
    def ratio_to_leaves(self) -> float:
        """Error by that of the better kind of leaf, which is picked afterwards."""
        return self.of_leaves["default"] / min(
            self.of_leaves["linear"], self.of_leaves["constant"]
        )


def lines_of(name: str) -> list[str]:
    """Lines of a stored result."""
    return (HERE / name).read_text(encoding="utf-8").splitlines()


def number_after(word: str, text: str) -> float | None:
    """The number that follows a word."""
    match = re.search(rf"{word} ([-+\d.e]+)", text)
    return None if match is None else float(match[1])


def stream_results(kind: str) -> list[Result]:
    """Results of the streams of "numbers" or "labels"."""
    others = [{line[:18].strip(): line[18:] for line in lines_of(f"{name}.txt")}
              for name in ("moa", "vw")]  # fmt: skip
    results = []
    for line in lines_of("streams.txt"):
        if " default " not in line or ("log loss" in line) != (kind == "labels"):
            continue
        name, (ours, rest) = line[:18].strip(), line.split("| first seed ")
        text = rest.split("| to ")[0] + " ".join(
            lines.get(name, "") for lines in others
        )
        peers: dict[str, tuple[float, float | None, float | None]] = {}
        for peer, error, more in PEER.findall(text):
            parts = [float(part) for part in more.split(",")]
            loss = -parts[0] if len(parts) > 1 else None
            peers[STREAM_PEERS[peer]] = float(error), loss, parts[-1]
        density = number_after("nats", ours)
        if density is None:
            density = -float(number_after("log loss", ours) or np.nan)
        leaves = {leaf: number_after(leaf, ours) for leaf in LEAVES}
        results.append(
            Result(
                name, float(rest.split()[0]), density, number_after("coverage", ours),
                number_after("us", ours), peers,
                {leaf: error for leaf, error in leaves.items() if error is not None},
            )
        )  # fmt: skip
    return results


def table_results() -> list[Result]:
    """Results of the tables."""
    bart = {line[:38]: line[38:] for line in lines_of("bart.txt")}
    results = []
    for line in lines_of("tables.txt"):
        if line.startswith("mean rank") or not line.strip():
            continue
        name = f"{line[:28].strip()}, {' '.join(line[28:38].split())}"
        cells = {
            cell: (float(error), float(density))
            for cell, error, density in CELL.findall(
                line[38:] + bart.get(line[:38], "")
            )
        }
        peers = {TABLE_PEERS[cell]: (*scores, None)
                 for cell, scores in cells.items() if cell in TABLE_PEERS}  # fmt: skip
        error, density = cells["default"]
        leaves = {"default": error, "linear": cells["linear leaves"][0],
                  "constant": cells["constant leaves"][0]}  # fmt: skip
        results.append(
            Result(
                name,
                error,
                density,
                number_after("coverage", line),
                None,
                peers,
                leaves,
            )
        )
    return results


def names_of_peers(results: Sequence[Result]) -> list[str]:
    """Peers in the order of `STREAM_PEERS` and `TABLE_PEERS`, those that were run."""
    order = dict.fromkeys([*STREAM_PEERS.values(), *TABLE_PEERS.values()])
    return [name for name in order if any(name in one.peers for one in results)]


def error_table(results: Sequence[Result], what: str) -> str:
    """Errors of the default, and how many times that the error of each peer is."""
    names = names_of_peers(results)
    rows = []
    for one in results:
        cells = [f"{one.error:.3g}"]
        for name in names:
            ratio = None
            if name in one.peers:
                ratio = max(one.peers[name][0], LEAST) / max(one.error, LEAST)
            text = "" if ratio is None else f"{ratio:.2f}" if ratio < 100 else "> 99"
            cells.append(f"**{text}**" if ratio is not None and text < "1.00" else text)
        rows.append([one.name, *cells])
    return markdown([what, "default", *names], rows)


def density_table(results: Sequence[Result], what: str) -> str:
    """Mean log densities; the best of a row is bold."""

    def score(one: Result, name: str) -> float | None:
        return one.peers[name][1] if name in one.peers else None

    names = [
        name
        for name in names_of_peers(results)
        if any(score(one, name) is not None for one in results)
    ]
    rows = []
    for one in results:
        scores = [one.density, *(score(one, name) for name in names)]
        best = max(value for value in scores if value is not None)
        cells = ["" if value is None else f"{value + 0.0:.2f}" for value in scores]
        bold = [
            f"**{cell}**" if value == best else cell
            for cell, value in zip(cells, scores, strict=True)
        ]
        rows.append([one.name, *bold])
    return markdown([what, "default", *names], rows)


def speed_table(kinds: Mapping[str, Sequence[Result]]) -> str:
    """Median microseconds a row of each learner."""
    names = names_of_peers([one for results in kinds.values() for one in results])
    rows = []
    for name in ("default", *names):
        cells = []
        for results in kinds.values():
            times = [
                one.seconds if name == "default" else one.peers.get(name, MISSING)[2]
                for one in results
            ]
            timed = [time for time in times if time is not None]
            cells.append(f"{np.median(timed):.0f}" if timed else "")
        rows.append([name, *cells])
    return markdown(["microseconds a row, median", *kinds], rows)


def memory_table() -> str:
    """Megabytes after the last row, over the streams of averaged.txt."""
    sizes: dict[str, list[float]] = {}
    for line in (HERE.parent / "averaged.txt").read_text(encoding="utf-8").splitlines():
        if match := MEMORY.match(line):
            sizes.setdefault(match[1], []).append(float(match[2]))
    rows = [[name, f"{min(each):.1f}", f"{np.median(each):.1f}", f"{max(each):.1f}"]
            for name, each in sizes.items()]  # fmt: skip
    return markdown(["megabytes after the last row", "least", "median", "most"], rows)


def count(results: Iterable[Result], most: float) -> int:
    """How many are at most so many times the error of the best peer."""
    return sum(one.ratio <= most for one in results)


def behind(results: Iterable[Result]) -> str:
    """Where the default is far behind, by how much, and whom, worst first."""
    losses = sorted(
        (one for one in results if one.ratio > FAR), key=lambda one: -one.ratio
    )
    return ", ".join(
        f"{one.name} ({100 * (one.ratio - 1):.0f} %, {one.best[0]})" for one in losses
    )


def covered(results: Sequence[Result]) -> str:
    """Range of coverage, how often it is near .90, and where it is too low."""
    rates = {  # as the table shows them
        one.name: round(one.coverage, 2) for one in results if one.coverage is not None
    }
    low = [name for name, rate in rates.items() if rate < 0.87]
    near = sum(0.87 <= rate <= 0.93 for rate in rates.values())
    return (
        f"cover {min(rates.values()):.2f} to {max(rates.values()):.2f}: .87 to .93 on "
        f"{near} of {len(rates)}, less on {len(low)} ({'; '.join(low)}), and more on "
        "the others"
    )


STREAMS = """\
# Which learner for which stream?

This page is written by `python -m tests.statistical.unseen.page` from stored results.
No default was chosen on these streams.

## Verdicts

- **Numbers.** The default, `AveragedStream()`, is within 3 % of the best of {n_peers}
  peers, or ahead of it, on {close_numbers} of {n_numbers} streams. The best peer is
  picked for each stream afterwards, by the error on the stream itself, which no user
  can do. It is more than 10 % behind on: {behind_numbers}.
- **Labels.** It is within 3 % of the best peer, or ahead, on {close_labels} of
  {n_labels} streams. It is more than 10 % behind on: {behind_labels}.
- **A sensor that jumps and then stands still** is better predicted by its last value:
  on "levels, lagged" the error of the last response is {last:.2f} times that of the
  default, on "levels, silent" {silent:.2f} times.
- **Uncertainty.** None of the peers gives a density of numbers. Intervals of 90 %
  {covered}.
- **Speed.** The default takes about {own_us:.0f} microseconds for a row of numbers
  that is predicted and learned, an adaptive forest of river {arf_us:.0f}, one of 30
  trees in CapyMOA {arf30_us:.0f}, a Hoeffding tree {hat_us:.0f} and a linear model
  {sgd_us:.0f}. Where many thousand rows come each second, use one of the last two, or
  Vowpal Wabbit.
- **The choice of the leaf** can be left alone: the error of the default is at most 2
  % above that of the better kind, linear or constant, on {leaf_close} of {n_numbers}
  streams, and at most {leaf_worst:.0f} % on all.
- **The rows are a table that does not grow.** See [which learner for which
  table](tables.md).

## Streams that chose no default

Each stream has 3000 rows, or as many as there are, and rows from the 201st on are
scored. Each row is predicted before it is learned. The peers are river's adaptive
forest (ARF), Mondrian forest (AMF) and random patches (SRP), of ten trees each, its
adaptive Hoeffding tree (HAT) and its online linear model; LightGBM, fitted to the
last 1000 rows at every hundredth row; CapyMOA's adaptive forests, and its SOKNL,
random patches and gradient boosting; Vowpal Wabbit's linear model; and the last
response again. All have their defaults. Some streams are drawn by a generator, and
others are data that statsmodels, scikit-learn and R ship.

### Numbers

The root mean square error of the default, and how many times as large that of each
peer is. Below 1, in bold, the peer is better. Errors below one in a thousand count as
that:

{errors_numbers}

The mean log density of the default, the coverage of its intervals of 90 %, and the
ratio of its error to that of the better kind of leaf:

{densities_numbers}

### Labels

The error rate of the default, and how many times as large that of each peer is:

{errors_labels}

Minus the log loss, the mean log probability of the labels; the best of each row is
bold:

{densities_labels}

## Speed and memory

Median of the streams above, in one thread, with other programs on the machine. The
process of Vowpal Wabbit and CapyMOA's Java are timed from Python:

{speed}

Memory was measured on other streams, on which members of the average were chosen
(`python -m tests.statistical.streams --averaged`); it does not depend on what is
learned:

{memory}

## What next

[Choosing](choosing.md) shows what each setting gains and costs,
[averaging](averaging.md) what the members are, and [production](production.md) how a
stream runs day and night.
"""

TABLES = """\
# Which learner for which table?

This page is written by `python -m tests.statistical.unseen.page` from stored results.
No default was chosen on the tables of numbers below; the five tables of labels say
less.

## Verdicts

- **Nothing is chosen.** `AveragedTrees()`, in scikit-learn `DynamicTreeRegressor()`,
  has the best mean rank of the five learners that have run on all {n} tables:
  {rank:.1f} in error ({next_error}) and {rank_density:.1f} in log density
  ({next_density}).
- **It is within 10 % of the best of its peers**, which is picked for each table
  afterwards, on {far} of {n} tables. It is further behind on: {behind}. Where rows
  are few, or the response is nearly a plane, try a linear model as well.
- **Uncertainty.** Intervals of 90 % {covered}.
- **The choice of the leaf** can be left alone: the error is within 5 % of that of the
  better kind, linear or constant, on {leaf_close} of {n} tables, and at worst
  {leaf_worst:.2f} times it ({leaf_name}).
- **More rows will come.** Trees learn new rows; the other learners have to be fitted
  again to all. See [which learner for which stream](streams.md).

## Tables that chose no default

Five folds each. The peers are scikit-learn's ridge regression, random forest,
gradient boosting and, for tables of up to 600 rows, Gaussian process, and BART of
stochtree. Peers that give no density have that of a normal with the spread of their
errors in folds of the training rows.

The root mean square error of the default, and how many times as large that of each
peer is. Below 1, in bold, the peer is better. Errors below one in a thousand count as
that:

{errors}

The mean log density; the best of each row is bold:

{densities}

The coverage of the intervals of the default, and the ratio of its error to that of
the better kind of leaf:

{leaves}

## Labels and time

{of_labels}

## What next

[Choosing](choosing.md) shows what each setting gains and costs, and
[predictions](predictions.md) what can be asked of a fit.
"""


def leaf_table(results: Sequence[Result], what: str, has_density: bool) -> str:
    """Densities, coverage and the ratio to the better kind of leaf."""
    head = [what, *["log density"] * has_density, "coverage", "to the better leaf"]
    return markdown(
        head,
        (
            [one.name, *[f"{one.density:.2f}"] * has_density, f"{one.coverage:.2f}",
             f"{one.ratio_to_leaves:.2f}"]
            for one in results
        ),
    )  # fmt: skip


def streams_page() -> str:
    """The page on streams."""
    numbers, labels = stream_results("numbers"), stream_results("labels")
    lagged, silent = (
        next(one for one in numbers if one.name == f"levels, {name}")
        for name in ("lagged", "silent")
    )

    def median(name: str) -> float:
        return float(np.median([one.peers[name][2] for one in numbers]))

    leaves = [one.ratio_to_leaves for one in numbers]
    return STREAMS.format(
        n_peers=len(names_of_peers(numbers)),
        n_numbers=len(numbers), close_numbers=count(numbers, CLOSE),
        behind_numbers=behind(numbers), n_labels=len(labels),
        close_labels=count(labels, CLOSE), behind_labels=behind(labels),
        last=lagged.peers["last response"][0] / lagged.error,
        silent=silent.peers["last response"][0] / silent.error,
        covered=covered(numbers),
        own_us=np.median([one.seconds for one in numbers if one.seconds]),
        arf_us=median("river ARF, 10"), arf30_us=median("CapyMOA ARF, 30"),
        hat_us=median("river HAT"), sgd_us=median("river linear"),
        leaf_close=sum(ratio <= 1.02 for ratio in leaves),
        leaf_worst=100 * (max(leaves) - 1),
        errors_numbers=error_table(numbers, "stream"),
        densities_numbers=leaf_table(numbers, "stream", True),
        errors_labels=error_table(labels, "stream"),
        densities_labels=density_table(labels, "stream"),
        speed=speed_table({"numbers": numbers, "labels": labels}),
        memory=memory_table(),
    )  # fmt: skip


def mean_ranks(results: Sequence[Result], part: int) -> dict[str, float]:
    """Mean ranks of learners that have run on all tables: by error, or by density."""
    names = [name for name in names_of_peers(results)
             if all(name in one.peers for one in results)]  # fmt: skip
    sign = (1.0, -1.0)[part]
    scores = np.array(
        [
            [
                sign * (one.error, one.density)[part],
                *(sign * float(one.peers[name][part] or 0.0) for name in names),
            ]
            for one in results
        ]
    )
    ranks = (scores[:, :, None] > scores[:, None, :]).sum(axis=2) + 1
    return dict(zip(["default", *names], ranks.mean(axis=0).tolist(), strict=True))


def others(ranks: Mapping[str, float]) -> str:
    """The ranks of all but the default, best first."""
    rest = sorted((rank, name) for name, rank in ranks.items() if name != "default")
    return ", ".join(f"{name} {rank:.1f}" for rank, name in rest)


def labels_and_time() -> str:
    """Tables of labels, and times, on tables that chose some defaults."""
    text = (HERE.parent / "tables.txt").read_text(encoding="utf-8")
    parts = text.split("root mean square error")
    seconds: dict[str, list[float]] = {}
    rows, learners = (
        [],
        ["ten clouds", "one cloud", "linear", "forest", "boosting", "gp"],
    )
    for k, part in enumerate(parts):
        for line in part.splitlines():
            cells = {}
            for cell in line[20:].split(" | "):
                match = re.fullmatch(r"(.+?) (\S+) (\S+) ([\d.]+)", cell.strip())
                if match:
                    cells[match[1]] = match[2]
                    seconds.setdefault(match[1], []).append(float(match[4]))
            if cells and not k:
                rows.append(
                    [line[:20].strip(), *(cells.get(name, "") for name in learners)]
                )
    errors = markdown(["error rate", *learners], rows)
    times = markdown(
        ["seconds of all fits", "median", "most"],
        (
            [name, f"{np.median(each):.1f}", f"{max(each):.1f}"]
            for name, each in seconds.items()
        ),
    )
    return (
        "Ten clouds are the default of that day. Of labels there are five tables, on "
        "which earlier defaults were tried, too, so that they prove "
        "less (`python -m tests.statistical.tables`):\n\n"
        f"{errors}\n\nThe seconds are of these five and of ten tables of numbers, of "
        f"at most 2000 rows, on one core:\n\n{times}"
    )


def tables_page() -> str:
    """The page on tables."""
    results = table_results()
    ranks, densities = mean_ranks(results, 0), mean_ranks(results, 1)
    worst = max(results, key=lambda one: one.ratio_to_leaves)
    return TABLES.format(
        n=len(results), rank=ranks["default"], rank_density=densities["default"],
        next_error=others(ranks), next_density=others(densities),
        far=count(results, FAR), behind=behind(results), covered=covered(results),
        leaf_close=sum(one.ratio_to_leaves <= 1.05 for one in results),
        leaf_worst=worst.ratio_to_leaves, leaf_name=worst.name,
        errors=error_table(results, "table, rows x columns"),
        densities=density_table(results, "table, rows x columns"),
        leaves=leaf_table(results, "table, rows x columns", False),
        of_labels=labels_and_time(),
    )  # fmt: skip


WRITERS: dict[str, Callable[[], str]] = {
    "streams.md": lambda: filled(streams_page()),
    "tables.md": lambda: filled(tables_page()),
    "mixtures.md": lambda: filled(mixtures_page()),
}


if __name__ == "__main__":
    for name, page in WRITERS.items():
        (PAGES / name).write_text(page(), encoding="utf-8")
