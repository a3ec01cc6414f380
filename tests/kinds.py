"""Every kind of model that learns rows, its options, and rows that it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    KeyedStream,
    LinearStream,
    RandomTreesStream,
    StreamingTree,
)
from dyntree.mixtures import (
    AffineFlow,
    Canopy,
    DependentDPMixture,
    DynamicMeans,
    GaussianKnownVariance,
    GaussianUnknown,
    HDPOptions,
    HDPPrior,
    MemoryBoundedHDP,
    Multinomial,
    OnlineDPGMM,
    OnlineDPMPPCA,
    OnlineHDPHSMM,
    RandomWalk,
    TaskParameterizedMixture,
)
from dyntree.mixtures.canopy import options as canopy
from dyntree.mixtures.canopy.options import CanopyOptions, MixturePrior
from dyntree.params import NIG

Options = dict[str, Any]
Learn = Callable[[Any, Options, int], None]
TURNED = [[2.0, 1.0], [1.0, 2.0]]
TWO = [{"window": 20}, {"window": 30}]  # members of an average, where few will do


# ------------------------------------------------------------ rows
def table(seed: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = np.array([[-6.0, 0.0], [6.0, 1.0], [0.0, 9.0]])
    return centres[rng.integers(3, size=n)] + rng.normal(size=(n, 2))


def responses(options: Options, part: int) -> tuple[Any, Any]:
    """Rows of two numbers and a text, or under R's rules of numbers alone."""
    X = table(part, 25)
    y: Any = X[:, 0] + 0.1 * X[:, 1]
    kind = options.get("model", "class" if "n_trees" in options else "constant")
    if kind == "class":
        y = np.array(["a", "b", "c"])[np.digitize(y, [-3.0, 3.0])]
    elif kind == "logit":
        y = np.array(["a", "b"])[(y > 0.0).astype(int)]
    elif kind in ("poisson", "negbin"):
        y = np.floor(np.abs(y))
    if options.get("rules") == "r":
        return X, y
    frame = pd.DataFrame(X, columns=["p", "q"])
    frame["s"] = np.where(X[:, 1] > 4.0, "u", np.where(X[:, 0] > 0, "v", "w"))
    frame.loc[3, "p"] = np.nan
    return frame, y


def learn_response(model: Any, options: Options, part: int) -> None:
    weighs = "weighting" in options and options.get("rules") != "r"
    weight = np.linspace(1.0, 2.0, 25).round() if weighs else None
    model.update(*responses(options, part), weight)


def keyed(options: Options, part: int) -> tuple[pd.DataFrame, Any]:
    """Rows as of trees, of five keys in a column of their own."""
    frame, y = responses(options, part)
    frame["k"] = np.arange(len(frame)) % 5 + part
    return frame, y


def learn_keyed(model: Any, options: Options, part: int) -> None:
    model.update(*keyed(options, part))


def rows(options: Options, part: int) -> np.ndarray:
    """Rows that the family of a mixture takes."""
    family = options.get("family")
    X = table(part, 40)
    if isinstance(family, AffineFlow):
        X = np.hstack([X, 0.5 * X])
    elif isinstance(family, Multinomial) or family in ("multinomial", "poisson"):
        X = np.floor(np.abs(np.tile(X, 2))) + 1.0
    return X


def learn_rows(model: Any, options: Options, part: int) -> None:
    model.update(rows(options, part))


def documents(options: Options, part: int) -> Any:
    """Counts of words, or six documents of rows."""
    X = table(part, 60)
    if options.get("family") == "multinomial":
        return np.floor(np.abs(np.tile(X, 3)))[:20] + 1.0
    return list(X.reshape(6, 10, 2))


def learn_documents(model: Any, options: Options, part: int) -> None:
    found, asked = documents(options, part), options.get("options")
    tracks = asked is not None and asked.track_documents and len(found) == 6
    ids = [f"{part} {k}" for k in range(6)] if tracks else None
    model.partial_fit(found, ids=ids)


def movement(options: Options, part: int) -> tuple[np.ndarray, Any]:
    """A bent line, and the frames at its ends."""
    rng = np.random.default_rng(part)
    line = np.linspace([0.0, 0.0], rng.uniform(1.0, 4.0, size=2), 50)
    line[:, 1] += np.sin(np.linspace(0.0, 3.0, 50)) + 0.01 * rng.normal(size=50)
    ends = [(np.eye(2), line[0]), (TURNED, line[-1])]
    return line, ends[: options.get("n_frames", 2)]


def learn_movement(model: Any, options: Options, part: int) -> None:
    model.update(*movement(options, part))


# ------------------------------------------------------------ options
TREE: dict[str, list[Any]] = {
    "model": ["linear", "class", "logit", "poisson", "negbin"], "n_particles": [7],
    "rules": ["r"], "intercept": ["augmented", "none"],
    "proposal": ["luall", "reject"], "min_leaf": [6], "n_start": [12],
    "tree_prior": [(0.9, 1.5)], "variance_prior": [(3.0, 0.5)], "first_split": [1],
    "n_basis": [1], "classes": [("c", "a", "b", "z")], "prior": [NIG(b0=0.5)],
    "class_mass": [0.5], "max_retired_mass": [10.0],
    "categories": [{"s": ["v", "u", "w", "007"]}], "new_levels": ["missing", "error"],
    "encode_levels": ["onehot", "effect"],
    "weighting": ["frequency", "variance"], "dispersion": [0.5], "robust": [True],
    "seed": [None, 2**31],
}  # fmt: skip
WINDOW: dict[str, list[Any]] = {
    "window": [15], "discard": ["age", "alc", "entropy", "random"],
    "forget": [0.0, 0.9], "drift": [True], "rejuvenate_every": [20],
}  # fmt: skip
OF_R = ("rules", "n_start", "variance_prior")
NATIVE = {name: values for name, values in TREE.items() if name not in OF_R} | {
    "model": [model for model in TREE["model"] if model != "logit"],  # of no average
}
CLUSTERS: dict[str, list[Any]] = {
    "merge_factor": [0.5], "check_every": [10], "min_weight": [2], "patience": [30],
    "forget": [0.99], "max_clusters": [2], "seed": [7],
}  # fmt: skip
SUBSPACES: dict[str, list[Any]] = CLUSTERS | {
    "lambda_": [30.0], "noise": [0.5], "lambda_1": [2.0], "gate": ["none", "bandwidth"],
    "bandwidth": [1.5], "max_dim": [1], "spare": [1], "merge": [False],
    "subspace": ["exact", "incremental"],
}  # fmt: skip
TOPICS: Options = {
    "tol": 1e-3, "max_sweeps": 9, "splits": 2, "merges": 3,
    "moves": "one", "alpha_update": "minka",
    "group_merge": "cosine", "magnify_max": 2.0, "n_birth": 2, "select": "always",
    "swaps": False, "cap_growth": "fixed", "start": "one",
    "working_limit": 2000, "track_documents": True, "compress_final": False,
    "block": 16, "allow_empty": True, "n_words": 9,
}  # fmt: skip
SWEEPS: Options = {
    "group_size": 8, "prototypes": 4, "list_loss": 0.001, "stale_target": 0.05,
    "refresh_max": 4, "explore": 0.1, "list_max": 2, "mh_steps": 2,
    "theta_step": "sample", "empty": "prior", "polish": 1,
}  # fmt: skip
KIND: dict[str, tuple[Any, Options, list[Options], dict[str, list[Any]], Learn]] = {
    "DynamicTree": (
        DynamicTree, {"n_particles": 12, "seed": 1},
        [{}, {"model": "linear"}, {"model": "class"}, {"model": "logit"},
         {"model": "negbin"},
         {"rules": "r"}, {"rules": "r", "model": "linear"}],
        TREE | {"model": [*TREE["model"], "prior"]}, learn_response,
    ),
    "StreamingTree": (
        StreamingTree, {"n_particles": 12, "seed": 1, "window": 30},
        [{}, {"model": "linear"}, {"model": "class"}, {"model": "logit"},
         {"model": "negbin"},
         {"rules": "r"}, {"rules": "r", "intercept": "augmented", "model": "linear"}],
        TREE | WINDOW, learn_response,
    ),
    "AveragedStream": (
        AveragedStream, {"n_particles": 8, "seed": 1},
        [{}, {"model": "linear"}, {"model": "class"}, {"model": "negbin"}],
        NATIVE | {"members": [TWO], "discount": [0.9],
                  "tempering": [0.5], "linear": [False]}, learn_response,
    ),
    "AveragedTrees": (
        AveragedTrees, {"n_particles": 8, "n_clouds": 2, "seed": 1},
        [{}, {"model": "linear"}, {"model": "class"}, {"model": "negbin"}],
        NATIVE | {"n_clouds": [3], "shuffle": [False], "linear": [False]},
        learn_response,
    ),
    "RandomTreesStream": (
        RandomTreesStream, {"n_trees": 3, "seed": 1}, [{}, {"model": "constant"}],
        {"model": ["constant"], "n_trees": [4], "discount": [0.99], "min_split": [5],
         "n_candidates": [4], "window": [64], "max_nodes": [40],
         **{name: TREE[name] for name in (
            "classes", "class_mass", "categories", "new_levels", "encode_levels",
            "weighting", "seed")}},
        learn_response,
    ),
    "LinearStream": (
        LinearStream, {"seed": 1, "model": "class"},
        [{}, {"forget": 0.99}, {"model": "negbin"}],
        {"model": ["class", "poisson"], "forget": [0.9], "spreads": [[1.0]],
         "clip": [2.0],
         **{name: TREE[name] for name in (
            "classes", "categories", "new_levels", "encode_levels", "dispersion",
            "seed")}},
        learn_response,
    ),
    "KeyedStream": (
        KeyedStream, {"n_particles": 4, "key": "k", "seed": 1},
        [{}, {"model": "class", "members": TWO}, {"model": "negbin", "members": TWO},
         {"own": False, "block": 9}],
        {"model": ["constant", "logit", "poisson"], "key": ["k"], "window": [9],
         "n_particles": [3], "members": [None, TWO],
         "own": [False], "classes": TREE["classes"], "categories": TREE["categories"],
         "discount": [0.9], "tempering": [1.0], "block": [7], "full_rows": [10],
         "thin": [2], "hot": [1], "late": ["learn"], "store": [None],
         "seed": TREE["seed"]}, learn_keyed,
    ),
    "OnlineDPGMM": (
        OnlineDPGMM, {"warm_up": 20, "seed": 0}, [{}, {"lambda_": 9.0}],
        CLUSTERS | {"lambda_": [9.0], "criterion": ["objective", "radius"],
                    "covariance": ["spherical"], "warm_up": [60]}, learn_rows,
    ),
    "OnlineDPMPPCA": (
        OnlineDPMPPCA, {"warm_up": 20, "seed": 0},
        [{}, {"lambda_": 30.0, "noise": 0.5}, {"gate": "bandwidth", "bandwidth": 1.5}],
        SUBSPACES | {"covariance": ["spherical"], "warm_up": [60]}, learn_rows,
    ),
    "OnlineHDPHSMM": (
        OnlineHDPHSMM, {"lambda_": 30.0, "noise": 0.5, "seed": 0},
        [{}, {"gate": "bandwidth", "bandwidth": 1.5}, {"emission": "gmm"},
         {"lambda_": "auto", "warm_up": 60}],
        SUBSPACES | {"lambda_2": [0.5], "lambda_3": [1.0], "lambda_4": [0.1],
                     "duration": ["negative-binomial"], "max_duration": [20],
                     "emission": ["gmm"], "covariance": ["spherical"],
                     "warm_up": [20]}, learn_rows,
    ),
    "DynamicMeans": (
        DynamicMeans, {"seed": 0}, [{}, {"lambda_": 9.0}],
        {"lambda_": [30.0], "max_absence": [1.5], "reach": [1.0, 3.0], "n_starts": [1],
         "max_clusters": [2], "seed": [7]}, learn_rows,
    ),
    "TaskParameterizedMixture": (
        TaskParameterizedMixture, {}, [{}, {"tied": True}],
        {"n_frames": [1], "time_weight": [20.0], "tied": [True],
         "mixture": [OnlineDPGMM(9.0, check_every=20, seed=0),
                     OnlineHDPHSMM(64.0, noise=2.0, emission="gmm", seed=0)]},
        learn_movement,
    ),
    "DependentDPMixture": (
        DependentDPMixture, {"family": GaussianKnownVariance(), "n_sweeps": 6,
                             "seed": 0},
        [{}, {"weights": "counts"}, {"innovation": 0.1}],
        {"family": [
            GaussianKnownVariance(TURNED), GaussianKnownVariance([1.0, 2.0]),
            GaussianKnownVariance(TURNED, base_mean=0.0, base_variance=9.0),
            GaussianKnownVariance(TURNED, [0.0, 1.0], [9.0, 4.0]),
            GaussianKnownVariance(np.diag([1.0, 2.0]), base_variance=[9.0, 4.0]),
            GaussianUnknown(), GaussianUnknown([0.0, 1.0], 0.02, 7.0, TURNED),
            GaussianUnknown(scale=[1.0, 2.0]), AffineFlow(), AffineFlow(
                GaussianUnknown(df=9.0), 0.02, 0.2, 8.0, [1.0, 2.0]),
            Multinomial(), Multinomial([0.1, 0.2, 0.3, 0.4])],
         "concentration": [2.0], "survival": [0.8, 1.0], "innovation": [0.3],
         "transition": [RandomWalk([0.1, 0.2], 0.9), RandomWalk(0.0)],
         "weights": ["counts"], "sampler": ["uncollapsed"], "n_sweeps": [9],
         "burn_in": [2], "thin": [1], "weight_memory": [0.7], "count_memory": [0.7],
         "history": [1], "history_merge": [False], "identity_move": [False],
         "prune": [0.0, 0.1], "base": ["moved"], "max_particles": [2],
         "n_chains": [2], "seed": [9]}, learn_rows,
    ),
    "MemoryBoundedHDP": (
        MemoryBoundedHDP, {"seed": 0}, [{}, {"family": "multinomial"}],
        {"family": ["diag", "multinomial"], "memory_limit": [20_000],
         "max_items": [20], "max_groups": [4], "epoch_size": [3],
         "expected_documents": [40], "expected_points": [400], "init_topics": [2],
         "max_topics": [2], "min_gain": [0.5],
         "prior": [HDPPrior(mean=[0.5, 0.0], dof=9.0, standardize=False),
                   HDPPrior(shape=2.0, rate=1.0, scale=0.2, strength=0.1, word=0.1)],
         "options": [HDPOptions(**{name: value}) for name, value in TOPICS.items()],
         "compat": ["paper"], "seed": [5], "threads": [2], "callback": [None]},
        learn_documents,
    ),
    "Canopy": (
        Canopy, {"n_components": 3, "seed": 0},
        [{}, {"inference": "canopy2"}, {"family": "poisson"}],
        {"n_components": [2], "family": list(canopy.FAMILIES),
         "inference": list(canopy.INFERENCES), "init": list(canopy.STARTS),
         "weights": ["sample", "collapsed"], "concentration": [2.0],
         "prior": [MixturePrior(mean=[0.5, 0.0], variance=[1.0, 2.0], df=9.0),
                   MixturePrior(mean_strength=0.1, rate=2.0), MixturePrior.none()],
         "max_iter": [3], "tol": [1e-2],
         "options": [CanopyOptions(**{name: value}) for name, value in SWEEPS.items()],
         "batch_size": [16], "seed": [4], "threads": [2]}, learn_rows,
    ),
}  # fmt: skip
