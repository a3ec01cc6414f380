"""Results on disk, by figure: what was run stays run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from tests.bench.results import stamp

Case = dict[str, Any]
Values = dict[str, Any]
SECONDS = 30.0  # of work that an end in between may lose
HERE = Path(__file__).parent / "results"


def key_of(case: Case) -> str:
    return json.dumps(case, sort_keys=True)


class Results:
    """Values of each case and repeat, in one file a figure.

    Parameters
    ----------
    path : Path or None
        None holds them in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self.path, self.stamp = path, {}
        self.runs: dict[str, dict[int, Values]] = {}
        if path is not None and path.is_file():
            told = json.loads(path.read_text())
            self.stamp = told["stamp"]
            for one in told["cases"]:
                runs = one["runs"]
                self.runs[key_of(one["case"])] = {int(r): v for r, v in runs.items()}

    def has(self, case: Case, repeat: int) -> bool:
        return repeat in self.runs.get(key_of(case), {})

    def add(self, case: Case, repeat: int, values: Values) -> None:
        self.runs.setdefault(key_of(case), {})[repeat] = values

    def write(self) -> None:
        """Replace the file at once, or leave it."""
        if self.path is None:
            return
        self.stamp = stamp()
        cases = [
            {"case": json.loads(key), "runs": {r: runs[r] for r in sorted(runs)}}
            for key, runs in self.runs.items()
        ]
        lines = ",\n".join(json.dumps(one) for one in cases)
        text = f'{{"stamp": {json.dumps(self.stamp)},\n"cases": [\n{lines}\n]}}\n'
        self.path.parent.mkdir(exist_ok=True)
        draft = self.path.with_suffix(".part")
        draft.write_text(text)
        draft.replace(self.path)

    def values(self, case: Case, name: str) -> np.ndarray:
        """One measure over the repeats of a case, in their order."""
        runs = self.runs.get(key_of(case), {})
        return np.array([runs[r][name] for r in sorted(runs)])

    def mean(self, case: Case, name: str) -> tuple[float, float]:
        """Mean over repeats and its standard error; NaN where there are none."""
        found = self.values(case, name)
        if not len(found):
            return float("nan"), float("nan")
        error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
        return float(found.mean()), float(error)


def rounded(value: Any) -> Any:
    """Numbers to five digits, lists of them too."""
    if isinstance(value, list | tuple | np.ndarray):
        return [rounded(one) for one in value]
    return float(f"{value:.5g}")


def run(
    function: Callable[[Case, int], Values],
    jobs: Iterable[tuple[Case, int]],
    results: Results,
    workers: int,
) -> None:
    """Run the jobs that have no result, some at a time; each is kept as it comes."""
    left = [(case, repeat) for case, repeat in jobs if not results.has(case, repeat)]
    with (
        ProcessPoolExecutor(workers) as pool,
        tqdm(total=len(left), disable=None) as bar,
    ):
        waiting = {pool.submit(function, *job): job for job in left}
        try:
            written = time.monotonic()
            for done in as_completed(waiting):
                values = {k: rounded(v) for k, v in done.result().items()}
                results.add(*waiting[done], values)
                bar.update()
                if time.monotonic() - written > SECONDS:
                    results.write()
                    written = time.monotonic()
        finally:
            pool.shutdown(cancel_futures=True)
            results.write()
