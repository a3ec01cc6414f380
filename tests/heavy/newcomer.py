"""What newcomer.sh does in Python, a function a part; it uses the installed package."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pandas as pd


def sites(n: int = 600) -> pd.DataFrame:
    """Numbers, text, dates and missing values, under labels of their own."""
    rng = np.random.default_rng(0)
    soil = rng.choice(["clay", "sand", "peat"], n)
    frame = pd.DataFrame({"depth": 5 * rng.random(n), "soil": soil})
    frame["day"] = pd.date_range("2025-01-01", periods=n, freq="6h")
    late = np.arange(n) > n // 2
    frame["y"] = np.sin(frame["depth"]) + (soil == "clay") + late
    frame["y"] += 0.1 * rng.standard_normal(n)
    frame.loc[rng.random(n) < 0.1, "depth"] = np.nan
    frame.loc[rng.random(n) < 0.1, "soil"] = None
    return frame.set_index(pd.Index([f"site {k}" for k in range(n)]))


def formula() -> None:
    import dyntree.formula.api as dtf

    data = sites()
    fit = dtf.dynamic_tree(
        "y ~ np.sqrt(depth) + C(soil) + day", data[:500], n_particles=200, seed=1
    ).fit()
    print(fit.summary().tables[1])
    print(fit.get_prediction(data[500:503]).summary_frame(alpha=0.1).round(2))
    resid = fit.append(data[500:]).resid
    print("one-step residuals:", len(resid), "of them", resid.isna().sum(), "missing")
    fit.save("formula.dyn")
    again = dtf.load("formula.dyn")
    assert again.predict(data).equals(fit.predict(data))
    print("reloaded: the same predictions, index", again.predict(data).index[0])


def polars_frame() -> None:
    import polars as pl

    import dyntree.formula.api as dtf

    data = pl.from_pandas(sites())
    fit = dtf.dynamic_tree("y ~ depth + soil", data, n_particles=200, seed=1).fit()
    print(type(fit.predict(data)), fit.get_prediction(data[:2]).summary_frame())


def parquet_file() -> None:
    data = sites().reset_index(drop=True)
    data.to_parquet("sites.parquet")
    data.to_csv("sites.csv", index=False)
    print("sites.parquet and sites.csv:", pd.read_parquet("sites.parquet").shape)


def grid_search() -> None:
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    from dyntree.api.estimators import DynamicTreeRegressor

    data = sites().dropna()
    steps = make_pipeline(
        OneHotEncoder(sparse_output=False, min_frequency=20, handle_unknown="ignore"),
        DynamicTreeRegressor(n_particles=50, random_state=1),
    )
    coarse = data[["soil"]].assign(depth=data["depth"].round())
    search = GridSearchCV(
        steps,
        {"dynamictreeregressor__model": ["constant", "linear"],
         "dynamictreeregressor__window": [None, 100]},
        cv=3, n_jobs=2,
    )  # fmt: skip
    search.fit(coarse, data["y"])
    print("best:", search.best_params_, f"R2 {search.best_score_:.2f}")


def river_pipeline() -> None:
    from river import compose, evaluate, metrics, preprocessing

    from dyntree.api.adapters import RiverDynamicTreeRegressor

    model = compose.Select("depth", "soil") | RiverDynamicTreeRegressor(
        window=100, n_particles=100, seed=1
    )
    other = compose.Select("depth") | preprocessing.StandardScaler()
    other |= RiverDynamicTreeRegressor(window=100, n_particles=100, seed=1)
    rows = sites()
    complete = rows[rows["depth"].notna()]
    for name, pipe, data in (("both", model, rows), ("scaled", other, complete)):
        stream = zip(data.to_dict("records"), data["y"], strict=True)
        print(name, evaluate.progressive_val_score(stream, pipe, metrics.RMSE()))


def repeats_on_dask() -> None:
    import joblib
    from distributed import Client, LocalCluster

    from dyntree import DynamicTree, fit_repeats

    data = sites()
    X, y = data[["depth", "soil"]], data["y"]
    blank = DynamicTree(n_particles=100, seed=1)
    here = fit_repeats(blank, X, y, 4)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                     dashboard_address=None) as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):  # fmt: skip
        there = fit_repeats(blank, X, y, 4)
    same = [a.log_evidence == b.log_evidence for a, b in zip(here, there, strict=True)]
    print("repeats in processes of dask, the same numbers:", same)
    assert all(same)


def trickle(rate: str) -> None:
    """Rows of the table to standard output, so many a second."""
    with open("sites.csv") as file:
        for line in file:
            sys.stdout.write(line)
            sys.stdout.flush()
            time.sleep(1 / float(rate))


if __name__ == "__main__":
    part: Any = globals()[sys.argv[1]]
    part(*sys.argv[2:])
