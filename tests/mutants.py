"""Saved models changed by chance or with intent, and what may come of loading them."""

from __future__ import annotations

import copy
import faulthandler
import io
import random
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    StreamingTree,
    checkpoint,
)
from dyntree.errors import CheckpointError
from dyntree.storage import archive
from tests.unit.models import MODELS, data

HANG = 60.0  # seconds after which a mutant counts as one that never ends
ROOM = 1 << 29  # bytes a process may ask for beyond what it holds at the start,
STATM = Path("/proc/self/statm")  # where a system says how much that is
ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 7, 624, 2**31 - 1, 2**31, 2**63, -(2**70),
    10**30, 0.0, -0.0, 0.5, -1.5, 1e-320, 1e308, float("inf"), float("nan"), "", "x",
    "r", "native", "class", "linear", "DynamicTree", "StreamingTree", [], [0],
    ["a", "a"], [[]], {}, {"float": "nan"}, {"float": "x"},
]  # fmt: skip
ODD_FLOATS = [0.0, -1.0, 1.0, 0.5, 1e-320, 1e160, 1e308, np.inf, -np.inf, np.nan, -5.0]
ODD_INTS = [0, 1, -1, 2, 3, 5, 1000, -1000, 2**31 - 1, -(2**31), 2**62, -(2**62)]
TYPES = ["<f8", "<i4", "<i8", "<u8"]


def models() -> dict[str, Any]:
    """One small model of each kind and state."""
    found: dict[str, Any] = {}
    for name, options in MODELS.items():
        tree = DynamicTree(**options, n_particles=12, seed=1)
        found[f"R {name}"] = tree.update(*data(name, 40))
        if name != "implicit":
            stream = StreamingTree(**options, n_particles=12, seed=1, window=20)
            found[f"R {name} stream"] = stream.update(*data(name, 60))
    for name in ("constant", "linear", "class", "prior"):
        X, y = data(name, 60)
        X[::5, 1] = np.nan
        for window in (15, 30):
            best = "entropy" if name == "class" else "alc"
            discard, forget = ("age", 0.95) if window == 15 else (best, 1.0)
            stream = StreamingTree(
                name, n_particles=12, seed=1, window=window, rejuvenate_every=25,
                forget=forget, discard=discard,
            )  # fmt: skip
            found[f"native {name} {window}"] = stream.update(X, y)
        growing = StreamingTree(
            name, n_particles=12, seed=1, window=20, rejuvenate_every=25, discard="age"
        )
        found[f"growing {name}"] = growing.update(X[:53], y[:53])
    rows = [{"p": k / 9, "q": "uvw"[k % 3], "r": None} for k in range(30)]
    named = DynamicTree("linear", n_particles=12, seed=1, categories={"q": list("uvw")})
    found["columns"] = named.update(rows, np.arange(30.0))
    found["waiting"] = DynamicTree(n_particles=12, seed=1).update(rows[:6], range(6))
    found["waiting labels"] = DynamicTree("class", rules="r", n_start=9, seed=1).update(
        *data("class", 5)
    )
    found["empty"] = StreamingTree("class", seed=1, classes=("a", "b", "c", 2, 2.5))
    frozen = StreamingTree("class", n_particles=12, window=20, seed=1)
    found["frozen"] = frozen.update(*data("class", 50)).freeze()
    memories = [{"window": 15, "forget": 0.9}, {"window": 30}]
    for name in ("linear", "class"):
        averaged = AveragedStream(name, members=memories, n_particles=6, seed=1)
        X, y = data(name, 50)
        y = np.where(y == "c", "b", y) if name == "class" else y  # two, stacked
        found[f"averaged {name}"] = averaged.update(X, y)
        clouds = AveragedTrees(name, n_clouds=3, n_particles=6, seed=1)
        found[f"clouds {name}"] = clouds.update(*data(name, 45))
    return found


def mutant(saved: bytes, chance: random.Random) -> bytes:
    """A saved model with something changed."""
    if chance.random() < 0.2:
        return _torn(bytearray(saved), chance)
    header, arrays = archive.read(io.BytesIO(saved))
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if chance.random() < 0.5:
            _change_header(header, chance)
        else:
            _change_array(arrays, chance)
    file = io.BytesIO()
    archive.write(file, header, arrays)
    return file.getvalue()


def _torn(data: bytearray, chance: random.Random) -> bytes:
    """Bytes flipped, cut out, doubled or lost at the end."""
    kind = chance.randrange(4)
    place = chance.randrange(len(data))
    size = chance.choice((1, 2, 4, 16, 300))
    if kind == 0:
        for _ in range(size):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == 1:
        del data[place : place + size]
    elif kind == 2:
        data[place:place] = data[place : place + size]
    else:
        del data[place:]
    return bytes(data)


def _change_header(header: dict[str, Any], chance: random.Random) -> None:
    """Give one field, or all of its name, an odd value; or lose or double one."""
    places: list[tuple[Any, Any]] = []

    def list_below(value: Any) -> None:
        found = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in found:
            places.append((value, key))
            if isinstance(part, dict | list):
                list_below(part)

    list_below(header)
    holder, key = chance.choice(places)
    kind = chance.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.append(holder[key])
    elif kind == 2 and type(holder[key]) in (int, float):
        holder[key] += chance.choice((-1, 1))
    else:
        value = chance.choice(ODD)
        if kind == 3:
            value = copy.deepcopy(chance.choice([h[k] for h, k in places]))
        alike = chance.random() < 0.5
        for other, name in places:
            if name == key and (alike or other is holder):
                other[name] = copy.deepcopy(value)


def _change_array(arrays: dict[str, Any], chance: random.Random) -> None:
    """Give elements odd values; or change the shape, type or name of an array."""
    name = chance.choice(sorted(arrays) or [""])
    if not name:
        return
    array = arrays[name] = arrays[name].copy()
    kind = chance.randrange(12)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = array[: chance.randrange(len(array) + 1)]
    elif kind == 2:
        arrays[name] = np.concatenate([array, array[:1]])
    elif kind == 3:
        arrays[name] = array[..., :-1]
    elif kind == 4:
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(chance.choice(TYPES))
    elif kind == 5:
        other = chance.choice(sorted(arrays))
        arrays[name], arrays[other] = arrays[other], arrays[name]
    elif array.size:
        flat = array.reshape(-1)
        for _ in range(chance.choice((1, 1, 2, 5))):
            place = chance.randrange(flat.size)
            if kind < 9:
                flat[place] = flat[chance.randrange(flat.size)]
            elif array.dtype.kind == "f":
                flat[place] = chance.choice(ODD_FLOATS)
            else:
                odd = chance.choice(ODD_INTS) % (1 << 8 * array.itemsize)
                flat[place] = np.uint64(odd).astype(array.dtype)


def use(model: Any) -> None:
    """Ask and teach a model whatever its kind allows."""
    tree = model.tree
    X, y = data("class" if tree.options.model == "class" else "constant", 8, seed=5)
    (first, *_) = getattr(model, "members", [model])
    features, names = first.tree.state.features, tree.columns
    width = 2 if features is None else features.n_columns
    X = np.resize(X, (8, min(width, 5)))
    if names is not None:
        X = [dict.fromkeys(names, 0.5) | {"q": "u"} for _ in range(8)]
    model.update(X, y)
    answer = model.predict(X)
    if hasattr(answer, "quantile"):
        answer.quantile([0.05, 0.95])
    tree.stats()
    first.tree.rejuvenate()
    model.update(X, y)
    model.copy().predict(X)
    first.tree.retire(first.tree.active_ids[:3])
    tree.relevance()
    checkpoint.loads(checkpoint.dumps(model))


def trial(saved: list[bytes], number: int) -> bool:
    """Load a mutant and use what came; returns whether anything came."""
    chance = random.Random(number)
    data = mutant(saved[number % len(saved)], chance)
    try:
        model = checkpoint.loads(data)
    except CheckpointError:
        return False
    try:
        use(model)
    except CheckpointError:
        raise
    except ValueError:  # refusals are answers too
        pass
    return True


def main(first: int, last: int) -> None:
    """Try mutants first .. last - 1 and print how many were loaded."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    saved = [checkpoint.dumps(model) for model in models().values()]
    if STATM.is_file():
        held = int(STATM.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + ROOM, held + ROOM))
    n_loaded = 0
    for number in range(first, last):
        faulthandler.dump_traceback_later(HANG, exit=True)
        try:
            n_loaded += trial(saved, number)
        except BaseException:
            print(f"mutant {number} of kind {number % len(saved)}", file=sys.stderr)
            raise
    faulthandler.cancel_dump_traceback_later()
    print(last - first, n_loaded)


if __name__ == "__main__":
    faulthandler.enable()
    main(int(sys.argv[1]), int(sys.argv[2]))
