"""The real CRAN dynaTree behind the signatures of `dyntree.api.rmirror`.

`dynaTree` and `dynaTrees` take the engine; every other function asks the engine its
object is from.
Arguments that are not given are left to R's own defaults.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dyntree.api import rmirror
from dyntree.api.rmirror.inputs import InputSpec
from dyntree.api.rmirror.stream import RStream, choose_stream
from dyntree.errors import DeletedCloudError

from .convert import from_r, to_r
from .guards import refuse_what_crashes
from .session import Session, default_session
from .wire import RValue

ENGINES = ("R", "dyntree")
_R_NAMES = {"lambda_": "lambda", "cls": "class"}
_OUR_NAMES = {theirs: ours for ours, theirs in _R_NAMES.items()}
_CHANGES = ("update", "retire", "rejuvenate")
_SCALARS = ("m", "N", "R", "nstart", "verb", "num", "time", "model", "icept", "approx")
_BY_CLASS = ("MEmean", "MEq1", "MEq2", "S", "T")
# What stands for an argument that R has no word for: there it is left out.
_LEFT_OUT = {"verb": None, "odr": "random", "nstart": "minp"}


class RDynaTree(Mapping[str, Any]):
    """An object of R's class ``dynaTree`` whose particles live in R.

    Fields are read as ``obj["mean"]`` or ``obj.mean``, and are those of `DynaTree` in
    the mirror. R's cloud is deleted once no object refers to it.

    Attributes
    ----------
    rng : RStream
        The stream from which later calls draw, unless they are given another.
    session : Session
        The R that made the object.
    """

    def __init__(
        self, value: RValue, cloud: Cloud | None, rng: RStream, running: Session
    ) -> None:
        self.rng = rng
        self.session = running
        self._cloud = cloud
        self._value = value
        self._fields = value.items()

    def __getitem__(self, name: str) -> Any:
        found = from_r(self._fields[name])
        if name in _BY_CLASS and "sens.class" in self._fields:
            labels = self._fields["sens.class"].data.astype(int).tolist()
            return {label: found[label - 1] for label in labels}
        return found if name in _SCALARS else _with_length(found)

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        for key in (name, name.replace("_", ".")):
            if key in self._fields:
                return self[key]
        raise AttributeError(f"no field {name!r}; there are {', '.join(self)}.")

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"RDynaTree({self.model!r}, N={self.N}, fields: {', '.join(self)})"

    @property
    def cloud(self) -> Cloud:
        """The cloud in R; raises DeletedCloudError if there is none."""
        if self._cloud is None:
            raise DeletedCloudError(
                "this object has no cloud: dynaTrees() deletes those of its repeats. "
                "Fit with dynaTree() instead."
            )
        if not self._cloud.alive:
            raise DeletedCloudError(
                f"cloud {self._cloud.num} was deleted; fit again, or work on a copy() "
                f"made before deletecloud()."
            )
        return self._cloud

    @property
    def r_value(self) -> RValue:
        """The object as R holds it."""
        return self._value


class Cloud:
    """A cloud of particles in R; objects made from one another share it."""

    def __init__(self, running: Session, num: int) -> None:
        self.session = running
        self.num = num
        self.doubled = False  # rejuvenated, and no row learned since
        self._end = weakref.finalize(self, running.unreachable.append, num)

    @property
    def alive(self) -> bool:
        """Whether R still has it."""
        return self._end.alive

    def forget(self) -> None:
        """Note that R has deleted it."""
        self._end.detach()


def _with_length(value: Any) -> Any:
    """Return a number as an array, as the mirror holds vectors of length one."""
    is_number = isinstance(value, np.generic | float | int)
    return np.atleast_1d(value) if is_number else value


def _argument(value: Any) -> RValue:
    """Return an argument as R's parser would: whole numbers are doubles."""
    if isinstance(value, RDynaTree):
        return value.r_value
    if hasattr(value, "reset_index"):  # the mirror has no names of rows, either
        value = value.reset_index(drop=True)
    sent = to_r(value)
    if sent.kind == "integer" and "class" not in sent.attributes:
        return RValue("double", sent.data.astype(np.float64), sent.attributes)
    return sent


def _given(mirror: Callable[..., Any], args: Any, named: Any) -> dict[str, Any]:
    """Return the arguments of a call by the mirror's names; R's names will do."""
    named = {_OUR_NAMES.get(key, key): value for key, value in named.items()}
    try:
        return dict(inspect.signature(mirror).bind(*args, **named).arguments)
    except TypeError as error:
        raise TypeError(f"{mirror.__name__}(): {error}.") from None


def _sweep(running: Session) -> None:
    """Delete the clouds that nobody can reach any more."""
    while running.unreachable:
        _delete(running, running.unreachable.pop())


def _delete(running: Session, num: int) -> None:
    attributes = {
        "names": RValue("character", ["num"]),
        "class": RValue("character", ["dynaTree"]),
    }
    obj = RValue("list", [to_r(num)], attributes)
    running.call("dynaTree", "deletecloud", {"obj": obj})


def _ask(
    running: Session, name: str, given: dict[str, Any], obj: RDynaTree | None
) -> Any:
    """Call R on the stream that the arguments or the object name."""
    cloud = None if obj is None else obj.cloud
    doubled = cloud is not None and cloud.doubled
    refuse_what_crashes(name, given, doubled)
    _sweep(running)
    own = None if obj is None else obj.rng
    stream = choose_stream(given.pop("seed", None), given.pop("rng", None), own)
    sent = {
        _R_NAMES.get(key, key): _argument(value)
        for key, value in given.items()
        if not _stands_for_nothing(key, value)
    }
    try:
        answer = running.call("dynaTree", name, sent, state=to_r(stream.state))
    except KeyboardInterrupt as stopped:
        if cloud is None or name not in _CHANGES or not running.alive:
            raise
        raise KeyboardInterrupt(
            f"{name}() was interrupted on its way: the object is as it was, and its "
            "cloud in R may have gone some of the way. Fit again, or go on from a "
            "copy() that was made before."
        ) from stopped
    stream.source = RStream.from_state(answer.state.data).source
    if answer.output:
        print(answer.output, end="")
    if cloud is not None and name in ("rejuvenate", "update"):
        cloud.doubled = name == "rejuvenate"
    if "dynaTree" not in answer.value.strings("class"):
        return _with_length(from_r(answer.value))
    if name in ("dynaTree", "copy"):
        cloud = Cloud(running, int(answer.value.items()["num"].data[0]))
        cloud.doubled = doubled
    return RDynaTree(answer.value, cloud, stream, running)


def _stands_for_nothing(key: str, value: Any) -> bool:
    word = _LEFT_OUT.get(key)
    return key in _LEFT_OUT and type(value) is type(word) and value == word


def _fit(name: str, args: Any, engine: str, running: Session | None, named: Any) -> Any:
    mirror = getattr(rmirror, name)
    if engine not in ENGINES:
        raise ValueError(f"engine must be 'R' or 'dyntree'; got {engine!r}.")
    if engine == "dyntree":
        return mirror(**_given(mirror, args, named))
    given = _given(mirror, args, named)
    return _ask(running or default_session(), name, given, None)


def dynaTree(
    *args: Any, engine: str = "R", session: Session | None = None, **named: Any
) -> Any:
    """Fit a dynamic tree by the real package or by the mirror.

    Parameters
    ----------
    X, y, ..., seed, rng
        As in `dyntree.api.rmirror.dynaTree`, in the same order.
    engine : {"R", "dyntree"}
        Which of the two fits: the real package or the mirror.
    session : Session, optional
        The R to use. The default is the embedded one if rpy2 is installed, else an
        Rscript.

    Returns
    -------
    RDynaTree or DynaTree

    Raises
    ------
    ValueError
        If `engine` has another value.
    RError
        If the real package refuses the arguments.
    """
    return _fit("dynaTree", args, engine, session, named)


def dynaTrees(
    *args: Any, engine: str = "R", session: Session | None = None, **named: Any
) -> Any:
    """Fit several repeats by the real package or by the mirror.

    Parameters
    ----------
    X, y, ..., seed, rng
        As in `dyntree.api.rmirror.dynaTrees`, in the same order.
    engine, session
        As in `dynaTree`.

    Returns
    -------
    RDynaTree or DynaTree
        An object without a cloud.

    Raises
    ------
    ValueError
        If `engine` has another value.
    RError
        If the real package refuses the arguments.
    """
    return _fit("dynaTrees", args, engine, session, named)


def getBF(obj1: Any, obj2: Any) -> Any:
    """Log Bayes factor by the engine of both fits, or by the mirror if these differ.

    Arguments and the result are those of `dyntree.api.rmirror.getBF`.
    """
    if not (isinstance(obj1, RDynaTree) and isinstance(obj2, RDynaTree)):
        return rmirror.getBF(obj1, obj2)
    sent = {"obj1": obj1.r_value, "obj2": obj2.r_value}
    return from_r(obj1.session.call("dynaTree", "getBF", sent).value)


def plot(x: Any, *args: Any, **named: Any) -> Any:
    """Draw the result of `predict` with matplotlib, from R's numbers if R computed it.

    Arguments and the result are those of `dyntree.api.rmirror.plot`.
    """
    return rmirror.plot(_drawable(x), *args, **named)


def plotprogress(x: Any, *args: Any, **named: Any) -> Any:
    """Draw the progress of a design, as `plot` does.

    Arguments and the result are those of `dyntree.api.rmirror.plotprogress`.
    """
    return rmirror.plotprogress(_drawable(x), *args, **named)


def _drawable(x: Any) -> Any:
    """Return an object of R's as one of the mirror, with its fields and no cloud."""
    if not isinstance(x, RDynaTree):
        return x
    ones = x.icept == "augmented"
    shape = InputSpec(x.X.shape[1] - ones, ones, None, 0, None)
    return rmirror.DynaTree(
        dict(x),
        handle=None,
        rng=x.rng,
        spec=shape,
        names={},
        row_ids=np.arange(x.y.size),
    )


def deletecloud(obj: Any) -> None:
    """Delete the cloud of an object, in the engine that made it."""
    if not isinstance(obj, RDynaTree):
        rmirror.deletecloud(obj)
        return
    _delete(obj.session, obj.cloud.num)
    obj.cloud.forget()


def _of_either(mirror: Callable[..., Any]) -> Callable[..., Any]:
    """Return a mirror's function that also takes objects of R's engine."""

    @functools.wraps(mirror)
    def either(*args: Any, **named: Any) -> Any:
        given = _given(mirror, args, named)
        obj = next(iter(given.values()))
        if not isinstance(obj, RDynaTree):
            return mirror(**given)
        return _ask(obj.cloud.session, mirror.__name__, given, obj)

    either.__doc__ = (
        f"Call ``{mirror.__name__}`` of the engine that made `object`.\n\n"
        f"Arguments and result are those of `dyntree.api.rmirror.{mirror.__name__}`."
    )
    return either


update = _of_either(rmirror.update)
retire = _of_either(rmirror.retire)
rejuvenate = _of_either(rmirror.rejuvenate)
copy = _of_either(rmirror.copy)
predict = _of_either(rmirror.predict)
coef = _of_either(rmirror.coef)
classprobs = _of_either(rmirror.classprobs)
sameleaf = _of_either(rmirror.sameleaf)
intervals = _of_either(rmirror.intervals)
alc = _of_either(rmirror.alc)
alcX = _of_either(rmirror.alcX)
alcalc = _of_either(rmirror.alcalc)
entropyX = _of_either(rmirror.entropyX)
ieci = _of_either(rmirror.ieci)
qEI = _of_either(rmirror.qEI)
qEntropy = _of_either(rmirror.qEntropy)
relevance = _of_either(rmirror.relevance)
sens = _of_either(rmirror.sens)
treestats = _of_either(rmirror.treestats)
varpropuse = _of_either(rmirror.varpropuse)
varproptotal = _of_either(rmirror.varproptotal)
