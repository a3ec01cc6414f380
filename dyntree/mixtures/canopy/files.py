"""What files hold of a mixture, and of a fit that is under way."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import checkpoint, params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError, CheckpointError, Message
from dyntree.mixtures.canopy.components import Components, Moments
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.options import CanopyOptions, MixtureOptions, MixturePrior
from dyntree.mixtures.canopy.parts import LocalShards, Parts
from dyntree.mixtures.canopy.records import CanopySweep, history_of
from dyntree.mixtures.canopy.scaling import Scaling
from dyntree.mixtures.canopy.state import State
from dyntree.mixtures.canopy.sweep_loop import Fit
from dyntree.mixtures.canopy.user_components import is_positive
from dyntree.mixtures.shared.arrays import Arrays

Header = dict[str, Any]
KEPT = tuple(  # of the history: how long a sweep took is not what a model is
    field.name for field in fields(CanopySweep) if field.name != "seconds"
)
SCALES = ("centre", "scale", "variance", "counts")


def fingerprint_of(parts: Parts, out: Matrix | None) -> dict[str, Any]:
    """What tells rows apart: shapes, a hash of the first and last 64, and of `out`."""
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
    told = asdict(options)
    prior = told.pop("prior")
    arrays: Arrays = {"waiting": state.waiting.copy()}
    for name in ("mean", "variance"):
        if prior[name] is not None:
            arrays[f"prior_{name}"] = prior.pop(name)
    if not isinstance(told["init"], str):
        arrays["init"] = np.asarray(told.pop("init"), float)
    header: Header = {
        "kind": "Canopy",
        "options": told,
        "prior": {k: v for k, v in prior.items() if v is not None},
        "batch_size": batch_size,
        "seed": seed,
        "features": None if state.features is None else state.features.to_header(),
        "n_learned": state.n_learned,
        "n_batches": state.n_batches,
        "converged": state.converged,
        "is_ready": state.components is not None,
    }
    for field in KEPT:
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


def from_arrays(
    options: MixtureOptions, batch_size: int, header: Header, arrays: Arrays
) -> State:
    """Return the state that `to_arrays` told of, checked."""
    told = header["features"]
    features = None if told is None else FeatureMap.from_header(told)
    waiting = checked(arrays, "waiting", np.float64, None)
    width = 0 if features is None else features.n_features
    if len(waiting) and (len(waiting) >= batch_size or waiting.shape[1] != width):
        raise ArgumentError(
            "waiting", "must have fewer rows than a batch, of all columns"
        )
    state = State(
        features=features,
        waiting=waiting,
        n_learned=params.count("n_learned", header["n_learned"], 0),
        n_batches=params.count("n_batches", header["n_batches"], 0, 2**62),
        history=history_read(arrays),
        converged=params.flag("converged", header["converged"]),
    )
    if not params.flag("is_ready", header["is_ready"]):
        return state
    if features is None:
        raise ArgumentError("features", "must be known where there are components")
    scaling = Scaling(
        power=params.positive("power", header["power"]),
        **{
            name: checked(arrays, f"scaling_{name}", np.float64, (width,))
            for name in SCALES
        },
    )
    if not (scaling.scale > 0).all():
        raise ArgumentError("scaling_scale", "must be > 0")
    known = components_read(options, arrays, width)
    moments = moments_read(known, arrays)
    return replace(state, scaling=scaling, components=known, moments=moments)


def checked(
    arrays: Arrays, name: str, dtype: Any, shape: tuple[int, ...] | None
) -> NDArray[Any]:
    """An array of that kind and shape, of finite numbers."""
    array = arrays[name]
    if array.dtype != dtype or (shape is not None and array.shape != shape):
        raise ArgumentError(
            name, "must be {dtype} of shape {shape}", dtype=np.dtype(dtype), shape=shape
        )
    if shape is None and array.ndim != 2:
        raise ArgumentError(name, "must have two dimensions")
    if not np.isfinite(array).all():
        raise ArgumentError(name, "must be finite")
    return array.copy()


def components_read(options: MixtureOptions, arrays: Arrays, d: int) -> Components:
    """Components of a file, checked."""
    m = options.n_components
    family = FAMILY_OF[options.family]
    known = Components(
        checked(arrays, "known_weight", np.float64, (m,)),
        checked(arrays, "known_mean", np.float64, (m, d)),
        checked(arrays, "known_spread", np.float64, family.spread_shape(m, d)),
    )
    if (known.weight < 0).any() or not known.weight.any():
        raise ArgumentError("known_weight", "must be >= 0 and not all 0")
    if family.is_count and not (known.mean > 0).all():
        raise ArgumentError("known_mean", "must be > 0")
    if not all(is_positive(one) for one in known.spread):
        raise ArgumentError("known_spread", "must be positive")
    return known


def moments_read(known: Components, arrays: Arrays) -> Moments:
    """Sums of a file, checked."""
    m, d = known.mean.shape
    spread = known.spread.shape if len(known.spread) else (m, 0)
    weight, first, second = (
        checked(arrays, f"moments_{name}", np.float64, shape)
        for name, shape in (("weight", (m,)), ("first", (m, d)), ("second", spread))
    )
    if (weight < 0.0).any() or (len(second) and second.ndim < 3 and (second < 0).any()):
        raise ArgumentError("moments", "must be those of rows, weights >= 0")
    return Moments(weight, first, second)


def history_read(arrays: Arrays) -> np.recarray[Any, Any]:
    """Reports of a file."""
    empty = history_of([])
    columns = [arrays[f"history_{name}"] for name in KEPT]
    if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
        raise ArgumentError("history", "must have one number a sweep in every column")
    out = np.empty(len(columns[0]), dtype=empty.dtype)
    out["seconds"] = np.nan
    for name, column in zip(KEPT, columns, strict=True):
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
        options, batch_size = options_read(header["model"], own)
        return cls(
            options,
            batch_size,
            params.count("seed", header["model"]["seed"], 0, params.MAX_SEED),
            from_arrays(options, batch_size, header["model"], own),
            params.positive("pace", header["pace"]),
            checked(arrays, "begun", np.float64, None),
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
