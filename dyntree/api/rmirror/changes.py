"""Functions that change the cloud, or double it: update, retire, rejuvenate, copy."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree.errors import ArgumentError, Message

from .arguments import as_indices, as_number, as_permutation, as_verb
from .handles import Handle, live_handles
from .progress import print_retirement, print_step
from .record import DynaTree, cloud_of, current_cloud
from .stream import RStream, check_seed_or_rng, choose_stream


def update(
    object: DynaTree,
    X: ArrayLike,
    y: ArrayLike,
    verb: int | None = None,
    *,
    seed: int | None = None,
    rng: RStream | None = None,
) -> DynaTree:
    """Learn more rows, one after the other.

    Parameters
    ----------
    object : DynaTree
        The model. Its fields do not change, but its cloud learns the rows.
    X : array_like or data frame of shape (n_rows, n_inputs)
        New rows, with the columns of the fit. A vector is one column.
    y : array_like of shape (n_rows,)
        Responses of the rows. For class models, labels that were possible at the fit.
    verb : int, optional
        Print a line every `verb` rows; by default every ``round(n_rows / 10)`` rows.
    seed, rng : int or RStream, optional
        Seed of a new stream, or a stream, to use instead of the object's own.

    Returns
    -------
    DynaTree
        A new object with the rows appended to X and y, their log predictive densities
        appended to lpred, and the seconds added to time. It shares the cloud with
        `object`.

    Raises
    ------
    TypeError, ValueError
        If the rows or responses do not fit the model. The model is then as it was
        before the call.

    Notes
    -----
    See the R help topic ``update.dynaTree``.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, update
    >>> x = np.linspace(0, 1, 20)
    >>> fit = update(dynaTree(x, x**2, N=5, verb=0, seed=1), [0.3, 0.6], [0.1, 0.4])
    >>> fit.X.shape, fit.lpred.shape
    ((22, 1), (22,))
    """
    cloud_of(object)
    check_seed_or_rng(seed, rng)
    rows = object.spec.encode(X, "X")
    response = object.spec.responses(y, "y", rows.shape[0])
    every = as_verb(verb, response.size)
    return learned(object, rows, response, every, choose_stream(seed, rng, object.rng))


def learned(
    object: DynaTree,
    rows: NDArray[np.float64],
    response: NDArray[np.float64],
    every: int,
    stream: RStream,
    *more: Any,
) -> DynaTree:
    """Let the cloud learn rows and responses as it stores them; see `update`.

    Further arguments are passed to the cloud.
    """
    if 0 < every < response.size:
        print(f"updating with {response.size} new (x,y) pairs")
    began = time.perf_counter()
    cloud = object.handle.drawing_from(stream.source)
    first = cloud.n_active + cloud.n_retired
    lpred = cloud.update(rows, response, max(every, 0), print_step, *more)
    shown = response + 1 if object.model == "class" else response
    return object.extended(
        {
            "X": np.concatenate((object.X, rows)),
            "y": np.concatenate((object.y, shown)),
            "lpred": np.concatenate((object.lpred, lpred)),
            "time": object.time + time.perf_counter() - began,
        },
        rng=stream,
        row_ids=np.concatenate((object.row_ids, np.arange(first, first + lpred.size))),
    )


def retire(
    object: DynaTree, indices: ArrayLike, lambda_: float = 1, verb: int = 0
) -> DynaTree:
    """Forget rows one by one, keeping their sums in the leaves.

    Parameters
    ----------
    object : DynaTree
        The model. Linear models need ``icept="augmented"`` or ``"none"``.
    indices : array_like of int
        Numbers of the rows to retire, from 1, in the order of the cloud before the call
        (`DynaTree.row_order`). Repeated numbers are dropped. It may be empty.
    lambda_ : float, default 1
        Forgetting factor in (0, 1] (R: ``lambda``). The retired sums of a leaf are
        multiplied by it when another of its rows retires.
    verb : int, default 0
        If positive, print the rows.

    Returns
    -------
    DynaTree
        A new object whose X and y contain the rows that are still active, in the order
        of the cloud: the last row has moved to each free place. removed is the number
        of rows retired so far.

    Raises
    ------
    TypeError, ValueError
        If the model is linear with an implicit intercept, an index is outside 1..n,
        `lambda_` is bad, or no row would be left. The model is then as it was before
        the call.
    StaleObjectError
        If a later call changed the rows of the object's cloud.

    Notes
    -----
    See the R help topic ``retire.dynaTree``. Anagnostopoulos and Gramacy (2013),
    Information-Theoretic Data Discarding for Dynamic Trees on Data Streams, Entropy 15.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, retire
    >>> x = np.linspace(0, 1, 20)
    >>> fit = retire(dynaTree(x, x**2, N=5, verb=0, seed=1), [1, 2])
    >>> fit.X.shape, fit.removed
    ((18, 1), 2)
    """
    cloud = current_cloud(object)
    if object.model == "linear" and object.icept == "implicit":
        raise ArgumentError(
            "retire",
            "needs leaves that can hold retired sums; linear leaves with "
            "icept='implicit' cannot",
            remedy="Fit with icept='augmented'.",
        )
    places = as_indices(indices, "indices", cloud.n_active)
    forget = as_number(lambda_, "lambda_")
    is_native = object.get("rules") == "native"
    if not (0 < forget <= 1 or (is_native and forget == 0)):
        least = "[0" if is_native else "(0"
        raise ArgumentError(
            "lambda_", f"must be in {least}, 1]", Message("{forget:g}", forget=forget)
        )
    places = np.array(list(dict.fromkeys(places.tolist())), dtype=np.int64)
    if places.size == cloud.n_active:
        raise ArgumentError(
            "indices",
            f"must leave at least one of the {cloud.n_active} row(s)",
            Message("all"),
        )
    if as_verb(verb, 0) > 0:
        print_retirement(places, *cloud.rows())
    if places.size:
        cloud.retire(places, forget)
    X, y = cloud.rows()
    return object.extended(
        {
            "X": X,
            "y": y + 1 if object.model == "class" else y,
            "removed": object.get("removed", 0) + places.size,
        },
        row_ids=cloud.row_ids(),
    )


def rejuvenate(
    object: DynaTree,
    odr: ArrayLike | str | None = "random",
    verb: int | None = None,
    *,
    seed: int | None = None,
    rng: RStream | None = None,
) -> DynaTree:
    """Add as many fresh particles as the fit had, grown from the active rows.

    Parameters
    ----------
    object : DynaTree
        The model.
    odr : array_like of shape (n,), "random" or None, default "random"
        A permutation of 1..n: row k is the ``odr[k - 1]``-th to be learned. "random"
        draws R's default, ``order(runif(n))``, and None keeps the order.
    verb : int, optional
        Print a line every `verb` rows; by default every ``round(n / 10)`` rows.
    seed, rng : int or RStream, optional
        Seed of a new stream, or a stream, to use instead of the object's own.

    Returns
    -------
    DynaTree
        A new object with the seconds added to time. The fields X and y keep their
        order, as in R. `DynaTree.row_order` is the order of the cloud.

    Raises
    ------
    TypeError, ValueError
        If `odr` is not a permutation of 1..n. The model and the stream are then as they
        were before the call.
    StaleObjectError
        If a later call changed the rows of the object's cloud.

    Notes
    -----
    See the R help topic ``rejuvenate.dynaTree``. Until the next update, the cloud holds
    the old particles as well as the new ones, and all queries average over both.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, rejuvenate
    >>> x = np.linspace(0, 1, 20)
    >>> fit = rejuvenate(dynaTree(x, x**2, N=5, verb=0, seed=1), verb=0)
    >>> fit.cloud.n_particles
    10
    """
    cloud = current_cloud(object)
    check_seed_or_rng(seed, rng)
    n = cloud.n_active
    destinations = (
        None if odr is None or isinstance(odr, str) else as_permutation(odr, "odr", n)
    )
    if isinstance(odr, str) and odr != "random":
        raise ArgumentError("odr", "must be a permutation, 'random' or None", odr)
    every = as_verb(verb, n)
    stream = choose_stream(seed, rng, object.rng)
    began = time.perf_counter()
    cloud = object.handle.drawing_from(stream.source)
    if destinations is None:
        destinations = np.arange(n)
        if odr is not None:
            destinations = np.argsort(stream.uniforms(n), kind="stable")
    if every > 0:
        print("rejuvenating")
    cloud.rejuvenate(destinations, max(every, 0), print_step)
    if every > 0:
        print(f"now {cloud.n_particles} particles")
    elapsed = time.perf_counter() - began
    return object.extended({"time": object.time + elapsed}, rng=stream)


def copy(
    obj: DynaTree, *, seed: int | None = None, rng: RStream | None = None
) -> DynaTree:
    """Duplicate an object and its cloud.

    Parameters
    ----------
    obj : DynaTree
        The model to copy.
    seed, rng : int or RStream, optional
        Seed of a new stream, or a stream, for the copy. By default both objects use the
        same stream, as in R.

    Returns
    -------
    DynaTree
        A new object with its own cloud and number.

    Raises
    ------
    DeletedCloudError
        If the cloud of `obj` was deleted.

    Notes
    -----
    See the R help topic ``copy``.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import copy, dynaTree, update
    >>> x = np.linspace(0, 1, 20)
    >>> fit = dynaTree(x, x**2, N=5, verb=0, seed=1)
    >>> twin = update(copy(fit), [0.5], [0.25])
    >>> fit.cloud.n_active, twin.cloud.n_active
    (20, 21)
    """
    cloud = cloud_of(obj)
    stream = choose_stream(seed, rng, obj.rng)
    return obj.with_handle(Handle(cloud.copy(stream.source)), stream)


def deletecloud(obj: DynaTree) -> None:
    """Delete the cloud of an object and free its number.

    Parameters
    ----------
    obj : DynaTree
        Any object of that cloud. All of them lose it.

    Raises
    ------
    DeletedCloudError
        If the cloud was deleted before, or the object has none.

    Notes
    -----
    See the R help topic ``deletecloud``. A cloud without objects is freed
    automatically.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import deletecloud, dynaTree
    >>> x = np.linspace(0, 1, 20)
    >>> deletecloud(dynaTree(x, x**2, N=5, verb=0, seed=1))
    """
    cloud_of(obj)
    obj.handle.delete()


def deleteclouds() -> None:
    """Delete all live clouds, and print a line for each as R does.

    Notes
    -----
    See the R help topic ``deleteclouds``. Numbers start from 0 again.

    Examples
    --------
    >>> from dyntree.api.rmirror import deleteclouds
    >>> deleteclouds()  # doctest: +SKIP
    removing cloud 0
    """
    for handle in live_handles():
        print(f"removing cloud {handle.num}")
        handle.delete()
