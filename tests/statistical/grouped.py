"""Tables with counts, and their rows written out: evidence, and coverage of new rows.

Run ``OMP_NUM_THREADS=1 python -m tests.statistical.grouped``; the last result is stored
beside this file in grouped.txt. Three public sets: ages of married women (numbers),
cases of cancer (labels), and visits to a doctor (counts), the first and the last in
1,000 rows by chance. Rows that are equal are one row of a table with a count. Shown are
log Bayes factors of three formulas, against the one with the highest evidence of rows
written out, and their Monte Carlo errors over twenty seeds and orders of `compare`: for
the table, learned in pieces; for the rows; and for the table as a stream learns it, in
whole rows. Coverage is of 300 new rows (of 292 for cases) in intervals of 90 %, by
trees of a table of the others; of the best formula, with a randomised PIT.

What must hold: log Bayes factors of table and rows are at most twice their common error
apart, and rank formulas alike; coverage is .85 to .95. Trees have fixed seeds: a run
that fails, fails again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import statsmodels.datasets as sets
from scipy.stats import sem

import dyntree
import dyntree.formula.api as dtf
from dyntree.api.order_evidence import evidence_over_orders
from dyntree.datasets import load_esoph

N_ROWS, N_REPEATS, LEVEL = 1000, 20, 0.9
OPTIONS = {"n_clouds": 1, "n_particles": 1000, "seed": 1}
WAYS = ("table", "rows", "stream")


@dataclass(frozen=True)
class Written:
    """Rows written out, formulas of them, and the model of their leaves."""

    name: str
    rows: pd.DataFrame
    formulas: tuple[str, ...]
    model: str


def written_sets() -> Iterator[Written]:
    women = sets.fair.load_pandas().data.sample(N_ROWS, random_state=1)
    rows = women[["age", "yrs_married", "children", "religious"]]
    formulas = ("age ~ yrs_married", "age ~ yrs_married + children",
                "age ~ yrs_married + children + religious")  # fmt: skip
    yield Written("ages", rows, formulas, "constant")
    cells = load_esoph()
    parts = [
        cells.loc[cells.index.repeat(cells[column])].assign(case=case)
        for column, case in (("ncases", "yes"), ("ncontrols", "no"))
    ]
    rows = pd.concat(parts)[["case", "agegp", "alcgp", "tobgp"]]
    formulas = ("case ~ alcgp", "case ~ agegp + alcgp", "case ~ agegp + alcgp + tobgp")
    yield Written("cases", rows, formulas, "class")
    visits = sets.randhie.load_pandas().data.sample(N_ROWS, random_state=1)
    rows = visits[["mdvis", "idp"]].assign(
        ill=visits["disea"] // 10, limits=1.0 * (visits["physlm"] > 0)
    )
    formulas = "mdvis ~ limits", "mdvis ~ ill", "mdvis ~ ill + idp"
    yield Written("visits", rows, formulas, "negbin")


def grouped(rows: pd.DataFrame) -> pd.DataFrame:
    """A table with the number of equal rows, in a random order."""
    table = rows.groupby([*rows.columns], observed=True).size().reset_index(name="n")
    return table.sample(frac=1.0, random_state=2)


def evidence(one: Written, way: str) -> np.ndarray:
    """Log evidence of each formula over seeds and orders: (n_formulas, N_REPEATS)."""
    data, options = one.rows.sample(frac=1.0, random_state=2), OPTIONS
    if way != "rows":
        data, options = grouped(one.rows), OPTIONS | {"freq_weights": "n"}
    if way == "stream":
        options = options | {"window": len(data)}
    models = [
        dtf.dynamic_tree(formula, data, model=one.model, **options)
        for formula in one.formulas
    ]
    return evidence_over_orders(models, N_REPEATS)


def coverage(one: Written, formula: str) -> float:
    """Share of new rows inside their intervals, by trees of a table of the others."""
    data = one.rows.sample(frac=1.0, random_state=3).reset_index(drop=True)
    new, old = data[: int(0.3 * len(data))], grouped(data[int(0.3 * len(data)) :])
    model = dtf.dynamic_tree(
        formula, old, freq_weights="n", model=one.model, n_clouds=10, seed=1
    )
    fit = model.fit()
    response = formula.split(" ~ ")[0]
    y, table = new[response].to_numpy(), fit.model.table_of(new)
    answer = fit.tree.predict(fit.design.encode(table))
    rng = np.random.default_rng(4)
    if one.model == "class":
        places = [answer.classes.index(label) for label in y]
        ends = np.cumsum(answer.proba, axis=1)[np.arange(len(y)), places]
        begins = ends - answer.proba[np.arange(len(y)), places]
    else:
        ends = answer.cdf(y)
        begins = answer.cdf(y - 1.0) if one.model == "negbin" else ends
    pit = begins + rng.random(len(y)) * (ends - begins)
    return float(np.mean(np.abs(pit - 0.5) <= LEVEL / 2))


def main() -> int:
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}")
    print(f"{'log Bayes factor (error)':<42}" + "".join(f"{w:>16}" for w in WAYS))
    met = True
    for one in written_sets():
        clock = time.process_time()
        found = {way: evidence(one, way) for way in WAYS}
        best = found["rows"].mean(axis=1).argmax()
        print(f"{one.name}: {len(grouped(one.rows))} rows of {len(one.rows)}")
        factors = {way: each - each[best] for way, each in found.items()}
        means = {way: each.mean(axis=1) for way, each in factors.items()}
        errors = {way: sem(each, axis=1) for way, each in factors.items()}
        for k, formula in enumerate(one.formulas):
            told = [f"{means[w][k]:9.1f} ({errors[w][k]:4.1f})" for w in WAYS]
            print(f"  {formula:<40}" + "".join(told), flush=True)
        apart = np.abs(means["table"] - means["rows"])
        met &= np.all(apart <= 2.0 * np.hypot(errors["table"], errors["rows"]))
        ranks = np.argsort(means["table"]), np.argsort(means["rows"])
        met &= np.array_equal(*ranks)
        inside = coverage(one, one.formulas[best])
        met &= 0.85 <= inside <= 0.95
        clock = time.process_time() - clock
        print(f"  coverage {inside:.3f}; {clock:.0f} CPU seconds", flush=True)
    print("met" if met else "NOT MET")
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
