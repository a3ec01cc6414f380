"""What files hold of a mixture, and of a fit that is under way."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from dyntree import checkpoint, params
from dyntree.checkpoint.layout import (
    Layout,
    check_arrays,
    check_close,
    ints,
    reals,
    require,
)
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST, Matrix
from dyntree.errors import CheckpointError, Message
from dyntree.mixtures.canopy.components import Components, Moments
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.options import CanopyOptions, MixtureOptions, MixturePrior
from dyntree.mixtures.canopy.parts import LocalShards, Parts
from dyntree.mixtures.canopy.records import CanopySweep, history_of
from dyntree.mixtures.canopy.scaling import Scaling
from dyntree.mixtures.canopy.state import State
from dyntree.mixtures.canopy.sweep_loop import Fit
from dyntree.mixtures.canopy.user_components import is_positive, moments_of
from dyntree.mixtures.shared.arrays import Arrays

Header = dict[str, Any]
STORED = tuple(  # of the history: how long a sweep took is not what a model is
    field.name for field in fields(CanopySweep) if field.name != "seconds"
)
SCALES = ("centre", "scale", "variance", "counts")


def fingerprint_of(parts: Parts, out: Matrix | None) -> dict[str, Any]:
    """Fingerprint of rows: shapes, a hash of the first and last 64, and of `out`."""
    digest = hashlib.sha256()
    n = parts.n_rows
    ends = np.unique(
        np.concatenate([np.arange(min(64, n)), np.arange(max(0, n - 64), n)])
    )
    digest.update(np.ascontiguousarray(parts.take(ends)).tobytes())
    if parts.weight is not None:
        digest.update(parts.weight.tobytes())
    if out is not None:
        digest.update(np.ascontiguousarray(out).tobytes())
    return {
        "rows": [len(rows) for rows in parts.arrays],
        "columns": parts.features.n_features,
        "hash": digest.hexdigest(),
    }


# ---------------------------------------------------------------- models
def to_arrays(
    options: MixtureOptions, batch_size: int, seed: int, state: State
) -> tuple[Header, Arrays]:
    """Return header and arrays of a model."""
    stored = asdict(options)
    prior = stored.pop("prior")
    arrays: Arrays = {"waiting": state.waiting.copy()}
    for name in ("mean", "variance"):
        if prior[name] is not None:
            arrays[f"prior_{name}"] = prior.pop(name)
    if not isinstance(stored["init"], str):
        arrays["init"] = np.asarray(stored.pop("init"), float)
    header: Header = {
        "kind": "Canopy",
        "options": stored,
        "prior": {k: v for k, v in prior.items() if v is not None},
        "batch_size": batch_size,
        "seed": seed,
        "features": None if state.features is None else state.features.to_header(),
        "n_learned": state.n_learned,
        "n_batches": state.n_batches,
        "converged": state.converged,
        "is_ready": state.components is not None,
    }
    for field in STORED:
        arrays[f"history_{field}"] = np.ascontiguousarray(state.history[field])
    if state.scaling is not None:
        header["power"] = state.scaling.power
        arrays |= {
            f"scaling_{name}": getattr(state.scaling, name).copy() for name in SCALES
        }
    for name, record in (("known", state.components), ("moments", state.moments)):
        if record is not None:
            arrays |= {f"{name}_{k}": v.copy() for k, v in vars(record).items()}
    return header, arrays


def options_read(header: Header, arrays: Arrays) -> tuple[MixtureOptions, int]:
    """Return options and the size of a batch, checked."""
    given, prior = dict(header["options"]), dict(header["prior"])
    for name in ("mean", "variance"):
        if f"prior_{name}" in arrays:
            prior[name] = arrays[f"prior_{name}"]
    if "init" in arrays:
        given["init"] = arrays["init"]
    sweeps = CanopyOptions(**given.pop("sweeps"))
    options = MixtureOptions(prior=MixturePrior(**prior), sweeps=sweeps, **given)
    return options, params.count("batch_size", header["batch_size"], 2)


LAYOUTS = {
    "waiting": reals(None, None, low=-LARGEST, high=LARGEST),
    "init": reals("m", None, needed=False),
    **{f"prior_{name}": reals(None, needed=False) for name in ("mean", "variance")},
    **{f"history_{name}": ints("sweeps") if kind == np.int64 else Layout(
        "f8", ("sweeps",), low=-np.inf, high=np.inf, gaps=True)
       for name, (kind, _) in (history_of([]).dtype.fields or {}).items()
       if name in STORED},
}  # fmt: skip
READY = {
    **{f"scaling_{name}": reals("d") for name in ("centre", "variance", "counts")},
    "scaling_scale": reals("d", above=0.0),
    "known_weight": reals("m", low=0.0, high=1.0),
    "known_mean": reals("m", "d", low=-LARGEST, high=LARGEST),
    "moments_weight": reals("m", low=0.0),
    "moments_first": reals("m", "d"),
}


def from_arrays(
    options: MixtureOptions, batch_size: int, header: Header, arrays: Arrays
) -> State:
    """Return the state of a header and arrays, as from `to_arrays`, checked."""
    names = header["features"]
    features = None if names is None else FeatureMap.from_header(names)
    width, m = 0 if features is None else features.n_features, options.n_components
    is_ready = params.flag("is_ready", header["is_ready"])
    layouts, family = LAYOUTS, FAMILY_OF[options.family]
    if is_ready:
        require(features is not None, "columns are missing")
        spread = family.spread_shape(m, width)
        second = spread if family.spread_shape(1, 1) != (0,) else (m, 0)
        layouts = LAYOUTS | READY | {
            "known_spread": reals(*spread), "moments_second": reals(*second),
        }  # fmt: skip
    check_arrays(arrays, layouts, m=m, d=width)
    waiting = arrays["waiting"]
    fits = len(waiting) < batch_size and waiting.shape[1] == width
    require(not len(waiting) or fits, "waiting has other rows than a batch begins with")
    state = State(
        features=features,
        waiting=waiting.copy(),
        n_learned=params.count("n_learned", header["n_learned"], 0),
        n_batches=params.count("n_batches", header["n_batches"], 0, 2**62),
        history=history_read(arrays),
        converged=params.flag("converged", header["converged"]),
    )
    if not is_ready:
        return state
    own = {name: array.copy() for name, array in arrays.items()}
    scaling = Scaling(
        power=params.positive("power", header["power"]),
        **{name: own[f"scaling_{name}"] for name in SCALES},
    )
    known = Components(*(own[f"known_{k}"] for k in ("weight", "mean", "spread")))
    moments = Moments(*(own[f"moments_{k}"] for k in ("weight", "first", "second")))
    check_scaling(scaling, options)
    require((moments.weight > 0.0) | ~moments.first.any(axis=1), "sums over no rows")
    require(abs(known.weight.sum() - 1.0) < 1e-6, "known_weight does not sum to 1")
    require(not family.invalid_means(known.mean).any(), "known_mean is impossible")
    require([is_positive(one) for one in known.spread], "known_spread is not positive")
    if options.sweeps.theta_step == "map":
        check_estimate(known, moments, scaling, options, state.n_learned)
    return replace(state, scaling=scaling, components=known, moments=moments)


def check_scaling(scaling: Scaling, options: MixtureOptions) -> None:
    """Columns are centred at their means, and divided by their deviations; counts not.

    Columns that do not vary are divided by the middle deviation of all. All are divided
    by more where far values ask for it, which are then part of the power.
    """
    family, variance = FAMILY_OF[options.family], scaling.variance
    require(variance >= 0.0, "scaling_variance is negative")
    if family.is_count:
        require((scaling.centre == 0.0) & (scaling.scale == 1.0), "counts are scaled")
        least = max(1.0, float((variance + scaling.counts**2).sum()))
        require(scaling.power >= least * (1.0 - 1e-9), "power is less than of rows")
        return
    require(scaling.centre == scaling.counts, "scaling_centre is not the mean")
    require(scaling.power >= len(variance), "power is less than of rows")
    scale = np.full(len(variance), float(np.sqrt(variance.mean())) or 1.0)
    if not family.one_scale:
        scale = np.where(variance == 0.0, scale, np.sqrt(variance))
    more = float(scaling.scale[0] / scale[0])
    require(more == 1.0 or (more > 1.0 and scaling.power > len(scale)), "scaling_scale")
    check_close("scaling_scale", scaling.scale, more * scale, 0.0)


def check_estimate(
    known: Components, moments: Moments, scaling: Scaling, options: MixtureOptions,
    n_learned: int,
) -> None:  # fmt: skip
    """Components are those of the sums over their rows, or the sums those of them.

    Components without rows may have begun again elsewhere.
    """
    family = FAMILY_OF[options.family]
    stated = moments_of(family, known, moments.total)
    if all(
        np.allclose(getattr(moments, name), value, rtol=1e-6, atol=1e-6 * moments.total)
        for name, value in vars(stated).items()
    ):
        return  # as a user has stated them
    prior = scaling.prior(options.prior, family, options.concentration)
    if options.weights != "collapsed":
        prior = family.tightened(moments, prior)
    found, _ = family.estimate(moments, prior)
    wide = family.widened_to_float32(found, np.zeros(len(found.weight), dtype=bool))
    one_row = max(moments.total / max(n_learned, 1), 1.0)  # the mean weight
    some = moments.weight >= one_row * (1.0 - 1e-9)
    check_close("known_mean", known.mean[some], found.mean[some])
    if len(known.spread):
        least = found.spread[some]
        largest = np.maximum(np.abs(wide.spread[some]), np.abs(least))
        off = np.abs(known.spread[some] - least)
        may_be = off <= np.abs(wide.spread[some] - least) + 1e-6 * largest
        require(may_be, "known_spread is not what other arrays say")
    if options.weights == "map":
        ratio = known.weight[some] / found.weight[some]
        require(np.ptp(ratio) <= 1e-6 if len(ratio) else True,
               "known_weight is not what other arrays say")  # fmt: skip


def history_read(arrays: Arrays) -> np.recarray[Any, Any]:
    """Reports of a file."""
    empty = history_of([])
    columns = [arrays[f"history_{name}"] for name in STORED]
    out = np.empty(len(columns[0]), dtype=empty.dtype)
    out["seconds"] = np.nan
    for name, column in zip(STORED, columns, strict=True):
        out[name] = column
    return out.view(np.recarray)


# ---------------------------------------------------------------- fits under way
@checkpoint.savable
class Running:
    """A fit under way, as a checkpoint holds it.

    `begun` is that of the fit, `arrays` are labels and lists of the shards.
    """

    def __init__(
        self, options: MixtureOptions, batch_size: int, seed: int, state: State,
        pace: float, begun: Matrix, arrays: Arrays,
    ) -> None:  # fmt: skip
        self.options, self.batch_size, self.seed = options, batch_size, seed
        self.state, self.pace, self.begun, self.arrays = state, pace, begun, arrays

    def to_arrays(self) -> tuple[Header, Arrays]:
        """Header and arrays: the model's, the pace, labels and lists."""
        header, own = to_arrays(self.options, self.batch_size, self.seed, self.state)
        arrays = {f"model_{name}": array for name, array in own.items()}
        return {"kind": "Running", "model": header, "pace": self.pace}, (
            arrays | self.arrays | {"begun": self.begun}
        )

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Running:
        """Return what `to_arrays` described."""
        own = {
            name.removeprefix("model_"): array
            for name, array in arrays.items()
            if name.startswith("model_")
        }
        begun = reals(None, None, low=-LARGEST, high=LARGEST)
        begun.check("begun", arrays["begun"], {})
        options, batch_size = options_read(header["model"], own)
        return cls(
            options,
            batch_size,
            params.count("seed", header["model"]["seed"], 0, params.MAX_SEED),
            from_arrays(options, batch_size, header["model"], own),
            params.positive("pace", header["pace"]),
            arrays["begun"],
            {k: v for k, v in arrays.items() if k.startswith("shard")},
        )

    def restore(self, fit: Fit, shards: LocalShards) -> None:
        """Bring a new fit and its shards to where they were."""
        state = self.state
        if state.components is None:
            raise CheckpointError("a fit under way must have components.")
        fit.known, fit.moments, fit.pace = state.components, state.moments, self.pace
        if self.begun.shape[1] != fit.known.mean.shape[1]:
            raise CheckpointError("begun must have the columns of these rows.")
        fit.begun = self.begun
        fit.reports = [CanopySweep(*row.tolist()) for row in state.history]
        fit.converged = state.converged
        m = len(fit.known.weight)
        most = min(m, fit.options.sweeps.list_max)
        if not 1.0 <= self.pace <= fit.options.sweeps.refresh_max:
            raise CheckpointError("pace must be within refresh_max.")
        check_lists(self.arrays, shards, m, most)
        shards.resume(self.arrays, len(fit.known.weight))


def check_lists(arrays: Arrays, shards: LocalShards, m: int, longest: int) -> None:
    """Raise CheckpointError for labels and lists that are none of these shards."""
    for name, like in shards.state().items():
        array = arrays.get(name)
        ok = array is not None and array.dtype == like.dtype and array.ndim == 1
        if ok and array is not None and not name.endswith("lists"):
            ok = array.shape == like.shape
        if ok and array is not None and len(array) and not name.endswith("turn"):
            least = 0 if name.endswith(("lists", "lengths")) else -1
            most = longest + 1 if name.endswith("lengths") else m
            ok = bool(array.min() >= least and array.max() < most)
        if not ok:
            raise CheckpointError(
                Message("{name!a} is missing, or none of these rows.", name=name)
            )
    for name, array in arrays.items():
        if name.endswith("_lengths"):
            lists = arrays[name.replace("_lengths", "_lists")]
            if int(array.sum()) != len(lists):
                raise CheckpointError(
                    Message(
                        "{name!a} does not sum to the length of its lists.", name=name
                    )
                )
            inner = np.ones(len(lists), dtype=bool)  # not the first of its list
            inner[np.cumsum(array)[array > 0] - array[array > 0]] = False
            if (np.diff(lists)[inner[1:]] <= 0).any():
                raise CheckpointError(Message("{name}: lists must ascend.", name=name))
        if name.endswith("_turn") and not 0 <= int(array[0]) < max(
            1, len(arrays[name.replace("_turn", "_lengths")])
        ):
            raise CheckpointError(
                Message("{name!a} must be the number of a group.", name=name)
            )
