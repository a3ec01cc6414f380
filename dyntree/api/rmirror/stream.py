"""R's random stream as an object, and the rule by which a call gets its stream."""

from __future__ import annotations

import operator
import secrets
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree.errors import ArgumentError, Message

from . import engine

GeneratorKind = Literal["Mersenne-Twister", "L'Ecuyer-CMRG"]


class RStream:
    """R's random number stream, as opened by ``set.seed(seed, kind)``.

    One stream can feed several models, just as R's single stream feeds every fit after
    ``set.seed``.

    Parameters
    ----------
    seed : int
        Seed as in R's ``set.seed``, in (-2**31, 2**32).
    kind : {"Mersenne-Twister", "L'Ecuyer-CMRG"}, default "Mersenne-Twister"
        R's name of the generator: its default, or that of parallel workers.

    Attributes
    ----------
    seed : int or None
        The seed with which the stream was opened, or None after `from_state`.

    Raises
    ------
    TypeError, ValueError
        If `seed` is not an int in this range, or `kind` is not one of the two.

    Notes
    -----
    The generators are the Mersenne Twister (Matsumoto and Nishimura 1998) and MRG32k3a
    (L'Ecuyer 1999), with R's scrambling of the seed and R's rounding of the output
    (see ``?RNGkind`` in R).

    Examples
    --------
    >>> from dyntree.api.rmirror import RStream
    >>> stream = RStream(1)
    >>> round(stream.peek(), 7), stream.n_draws
    (0.2655087, 0)
    >>> stream.uniforms(3).round(7).tolist(), stream.n_draws
    ([0.2655087, 0.3721239, 0.5728534], 3)
    """

    def __init__(self, seed: int, kind: GeneratorKind = "Mersenne-Twister") -> None:
        self.seed: int | None = _check_seed(seed)
        if kind not in get_args(GeneratorKind):
            raise ArgumentError(
                "kind",
                "must be 'Mersenne-Twister' or \"L'Ecuyer-CMRG\", R's generators "
                "that are known here",
                kind,
            )
        self.source: Any = engine.RSource(self.seed, kind)

    @classmethod
    def from_state(cls, state: ArrayLike) -> RStream:
        """Continue from R's ``.Random.seed``.

        Parameters
        ----------
        state : array_like of shape (626,) or (7,)
            Integers: 10403 (Mersenne-Twister), the position and 624 state words, or
            10407 (L'Ecuyer-CMRG) and six state words.

        Returns
        -------
        RStream
            A stream with ``n_draws`` 0 and ``seed`` None.

        Raises
        ------
        ValueError
            If R would not store such a state.

        Examples
        --------
        >>> from dyntree.api.rmirror import RStream
        >>> first = RStream(7)
        >>> RStream.from_state(first.state).peek() == first.peek()
        True
        """
        stream = cls.__new__(cls)
        stream.seed = None
        stream.source = engine.RSource.from_state(state)
        return stream

    @property
    def n_draws(self) -> int:
        """Number of 32-bit outputs used since this stream was opened."""
        return int(self.source.n_draws)

    @property
    def position(self) -> int:
        """Position in the block of 624 words, 624 after seeding; 0 of L'Ecuyer-CMRG."""
        return int(self.source.position)

    @property
    def state(self) -> NDArray[np.int32]:
        """R's ``.Random.seed``: ndarray of shape (626,) or (7,)."""
        return np.asarray(self.source.state)

    def peek(self) -> float:
        """Return what the next uniform draw will be, without drawing it."""
        return float(self.source.peek())

    def uniforms(self, n: int) -> NDArray[np.float64]:
        """Draw `n` uniforms, as in R's ``runif(n)``.

        Parameters
        ----------
        n : int
            Number of draws, >= 0.

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.asarray(self.source.uniforms(n))

    def ahead(self, n: int) -> NDArray[np.float64]:
        """Return the next `n` uniforms without advancing the stream.

        Parameters
        ----------
        n : int
            Number of draws, >= 0.

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.asarray(self.source.copy().uniforms(n))

    def __repr__(self) -> str:
        return f"RStream(seed={self.seed}, n_draws={self.n_draws})"


def choose_stream(
    seed: int | None, rng: RStream | None, own: RStream | None
) -> RStream:
    """Return the stream a call draws from: the given one, else the object's own."""
    check_seed_or_rng(seed, rng)
    if rng is not None:
        return rng
    if seed is not None:
        return RStream(seed)
    if own is not None:
        return own
    return RStream(secrets.randbits(31))


def check_seed_or_rng(seed: int | None, rng: RStream | None) -> None:
    """Refuse both at once, a bad seed and a stream of another kind."""
    if seed is not None and rng is not None:
        raise ValueError(
            "give seed or rng, not both: seed opens a new stream, rng continues one."
        )
    if rng is not None and not isinstance(rng, RStream):
        raise TypeError(
            Message(
                "rng must be an RStream; got {kind}. Write rng=RStream(seed).",
                kind=type(rng).__name__,
            )
        )
    if seed is not None:
        _check_seed(seed)


def _check_seed(seed: int) -> int:
    if isinstance(seed, bool | np.bool_):
        raise TypeError(Message("seed must be an int; got {seed}.", seed=seed))
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(
            Message("seed must be an int; got {seed!r}.", seed=seed)
        ) from None
    if not -(2**31) < number < 2**32:
        raise ArgumentError("seed", "must be in (-2**31, 2**32), as in R", number)
    return number
