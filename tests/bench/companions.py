"""The companions with their defaults, beside their peers in the same run.

    python -m tests.bench.companions [SECTION ...] [--elec2 FILE]

Sections: tables, densities, blobs, wide, streams, weeks, regimes, forget, bars, news,
documents, short, neighbours. All by default, within an hour of one core; companions.txt
holds what was printed last. A cell is the mean over three seeds and, in brackets, the
worst of them; K is told for each. Seconds are of the processor. Rows that are held out
are a fifth, their log densities are in nats a row. "Diagonal, same K" is what scikit-
learn's diagonal mixture says of the same rows with as many components as the model has
found.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is loaded

from tests.bench import (  # noqa: E402
    companion_clusters,
    companion_neighbours,
    companion_streams,
    companion_words,
)
from tests.bench.companion_tables import Table  # noqa: E402

ELEC2 = "../shared/data/elec2.csv.gz"
PACKAGES = (
    "numpy", "scikit-learn", "river", "hmmlearn", "gensim", "tomotopy", "faiss-cpu",
)  # fmt: skip
SECTIONS: dict[str, Callable[[], Iterator[Table]]] = {
    "tables": companion_clusters.tables,
    "densities": companion_clusters.densities,
    "blobs": companion_clusters.separated,
    "wide": companion_clusters.wide,
    "streams": companion_streams.tables,
    "regimes": companion_streams.regimes,
    "forget": companion_streams.forgetting,
    "bars": companion_words.bars_found,
    "news": companion_words.news_found,
    "documents": companion_words.many_documents,
    "short": companion_words.short_documents,
    "neighbours": companion_neighbours.neighbours,
}


def versions() -> str:
    """The packages of the run."""
    told = []
    for package in PACKAGES:
        try:
            told.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            told.append(f"{package} absent")
    return ", ".join(told)


def print_sections(
    sections: Mapping[str, Callable[[], Iterator[Table]]], chosen: Sequence[str]
) -> None:
    """Print the tables of some sections, after the versions."""
    print(versions(), "\n", flush=True)
    for section in chosen:
        clock = time.perf_counter()
        for table in sections[section]():
            print("\n".join(table.lines()), flush=True)
        print(f"[{section}: {time.perf_counter() - clock:.0f} s]\n", flush=True)


def main() -> None:
    """Run the sections that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = [*SECTIONS, "weeks"]
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(names))
    parser.add_argument("--elec2", default=ELEC2, help="CSV file with x1 to x4, y")
    given = parser.parse_args()
    if not set(given.sections) <= set(names):
        parser.error(f"sections are {', '.join(names)}; got {given.sections}")
    sections = SECTIONS | {"weeks": lambda: companion_streams.weeks(given.elec2)}
    print_sections(sections, given.sections or names)


if __name__ == "__main__":
    main()
