"""KeyedStream: one model for many keys, each with as much of its own as it shows."""

from __future__ import annotations

import os
import sys
from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from io import BytesIO
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import checkpoint, params
from dyntree.checkpoint.layout import require
from dyntree.checkpoint.models import with_labels
from dyntree.encoding.feature_map import Encoded, FeatureMap, is_nothing, take
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.targets import NumbersWatch, are_labels
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import (
    ArgumentError,
    KeyTypeWarning,
    ManyKeysWarning,
    Message,
    NotReadyError,
    shown,
    silenced,
    warn,
)
from dyntree.keyed.blobs import Codec
from dyntree.keyed.files import (
    BLOBS,
    blob_arrays,
    blobs_in,
    check_key,
    rest_arrays,
    shared_in,
    stream_arrays,
)
from dyntree.keyed.key_file import KeyFile, check_readable
from dyntree.keyed.keys import (
    Key,
    is_kind,
    key_in,
    key_kind,
    key_named,
    key_seed,
    key_text,
    keys_of,
)
from dyntree.keyed.laws import (
    N_GRID,
    CountLaw,
    Fleet,
    LabelLaw,
    Law,
    Levels,
    RealLaw,
    exposed,
)
from dyntree.keyed.own import answers_of, fitting, is_usable, learned
from dyntree.keyed.rows import (
    KeyedRows,
    Part,
    Run,
    apart_from_key,
    exposures_of,
    learnable_rows,
    position_apart,
    positions_of,
    response_apart,
    responses_of,
)
from dyntree.keyed.shared import FIRST_BLOCK, Shared
from dyntree.keyed.snapshots import digest, snapshots_in, sound_blobs
from dyntree.keyed.state import KeyState, Waiting, joined_rows
from dyntree.keyed.store import Keys
from dyntree.keyed.weights import N_AGES, age_of, moved, start_of, weights_at
from dyntree.params import COUNTS, MIXED, TreeOptions
from dyntree.params.labels import from_json, plain_label, to_json
from dyntree.params.names import Suggesting
from dyntree.runtime.locking import ModelLock, locked
from dyntree.runtime.online import Arrays, Header
from dyntree.runtime.parallel import late_interrupts
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.seeds import given_or_drawn, spawned
from dyntree.storage import archive
from dyntree.storage.plain import plain
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.trees.averages.memories import MANY_COLUMNS
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.base import INTERNAL
from dyntree.trees.learning.check import (
    count_levels,
    encoded,
    known_classes,
    warn_of_many,
)
from dyntree.trees.learning.growth import Growth
from dyntree.trees.learning.scaling import check_first, check_scale
from dyntree.trees.state import TreeState
from dyntree.trees.streaming import StreamingTree

MEMBERS = "level", "history", "own"
Ints = NDArray[np.int64]
AT_ONCE = 1000  # rows of a call for whose end an interrupt waits
COMMIT_ROWS = 1000  # of a long call, after which those so far are on disk
MANY_ROWS, MANY_NEW = 10_000, 0.9  # rows, and the share of new keys that is suspicious
LATE = ("drop", "learn")
MOST_BESIDE = 500  # rows that keys learn together beside a snapshot
LEAVES = ("linear", "constant", "class", "logit", *COUNTS)
PLAIN = (  # arguments that a file has as they are
    "key", "window", "n_particles", "members", "own", "discount", "tempering", "block",
    "full_rows", "thin", "hot", "late", "seed",
)  # fmt: skip

MUST_AGREE = [name for name in PLAIN if name not in ("key", "hot", "late", "seed")]


@checkpoint.savable
class KeyedStream(Suggesting, checkpoint.Stored):
    """A model for every key of a stream: sensors, shops, customers or machines.

    The prediction of a row is a mixture of three members: a stream that all keys share
    and that knows the *level* of the key, a shared stream that knows its *history*, and
    a small tree of the key alone. Their weights are learned for each key, and for all
    keys of an age together. A new key is therefore predicted as new keys were before
    it, and a key with many rows as its own rows have shown.

    Parameters
    ----------
    model : {"linear", "constant", "class", "logit", "poisson", "negbin"}, optional
        The model in the leaves of the keys' own trees, as in `StreamingTree`. The
        default is "class" if `classes` are named, or the first responses are text,
        booleans or categories, and else "linear". The shared streams are an
        `AveragedStream` each, of mixed leaves for real responses.
    key : str, int, or another name of a column, optional
        Column of X with the keys, or its place in an array, where calls do not pass
        any. Names are compared as text, so that 0 and "0" are one column. Keys are
        text, integers, truth values, dates, or tuples of these; 1 and "1" are two keys.
    window : int, default 50
        Active rows of a key's own tree, or those of two leaves if these are more, as
        linear leaves of many columns need.
    n_particles : int, default 30
        Particles of a key's own tree.
    members : {"light", "fast"} or sequence of dict, optional
        Members of the shared streams, as in `AveragedStream`. For real responses and up
        to 15 features the default is "fast", else that of `AveragedStream`.
    own : bool, default True
        Whether keys have trees of their own.
    classes, categories
        As in `DynamicTree`.
    discount : float in (0, 1], default 0.98
        Factor of the log weights of the members after each row of a key.
    tempering : float > 0, default 0.3
        Power of the predictive densities in these weights.
    block : int, default 100
        The shared streams, and the weights by age, stand still within a block of rows,
        and learn it at its end. The first block has ten rows; the others are as long as
        a thirty-second of all rows before them, and at most this long.
    full_rows : int, default 5000
        Rows after which the shared streams learn one row in `thin`.
    thin : int, default 16
        See `full_rows`.
    hot : int, default 500
        Keys whose trees are in memory as they are; the others are compressed. Answers
        do not depend on it.
    late : {"drop", "learn"}, default "drop"
        What happens to a row whose `position` is not larger than the last of its key:
        it is left out and counted, or learned as it comes.
    store : str or path, optional
        A file of SQLite with the states of all keys, which is made or continued. Each
        call of `update` is on disk when it returns, and so are, within a long call, all
        rows up to the end of a block after each thousand, whole or not at all; a model
        goes back to these when the call is interrupted. One process at a time may have
        it; see `close`.
    seed : int, optional
        By default it is drawn from the system. The seeds of all trees derive from it,
        those of a key's own tree also from the key.

    Attributes
    ----------
    autocommit : bool
        Whether a store has on disk what was learned whenever a call returns, and after
        each thousand rows of a long one. True at first; where it is set to False, only
        `commit` does that, so that several calls are on disk together or not at all.
    is_frozen : bool
        Whether `update` learns nothing, because `freeze` was called.
    n_skipped : int
        Rows that were left out because of their positions, in calls of this model and
        of models that it took. States of keys do not have them: they do not change as
        keys are dropped, or taken as bytes.
    snapshot_id : str or None
        The snapshot beside which keys learn; see `snapshot`.
    notes : dict
        What the last `commit` with notes stored beside the model.

    Notes
    -----
    For real responses the level stream learns y - v on the columns, where v is the sum
    of w_fl s_f / (n_f + l) over fades f in {1, .97, .85} and shrinkages l in {inf, 30,
    10, 3, 1, .3, .1, .03}. A row of the key with the residual r, from the mean of the
    stream, makes n_f <- f n_f + 1 and s_f <- f s_f + r. The weights w belong to all
    keys: log w <- .999 (log w - 2.5 log(1 + e^2 / 4)), where e is the error of s_f /
    (n_f + l) in standard deviations. For counts the level is a factor of the exposure,
    (N + 2) / (E + 2), and for labels a factor of each probability, where N is what the
    key had, E what the stream expected of it, and both fade by .99 a row.

    The history stream has further columns: the mean of the key, shrunk to that of all
    keys by two rows, its last response, and log(1 + rows). For labels they are the
    shares of all labels but the first, and which was the last, for the labels that were
    named or are in the first ten rows.

    The weights of the members are proportional to exp(L + G), of the key and of all
    keys with about as many rows. Both follow L <- discount (L + tempering (log p - max
    log p)); a member falls behind by at most 30 at a row. Before its second row, and
    where it has no density, a key's tree predicts what its level does.

    Results do not depend on how a stream is divided into calls, or on `hot`; those of a
    block do not depend on the order of its keys.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import KeyedStream
    >>> rng = np.random.default_rng(0)
    >>> sensor = rng.integers(0, 20, 600)
    >>> level = rng.normal(0.0, 2.0, 20)
    >>> X = rng.random((600, 2))
    >>> y = X[:, 0] + level[sensor] + 0.1 * rng.standard_normal(600)
    >>> fleet = KeyedStream(seed=1).update(X, y, key=sensor)
    >>> error = fleet.predict([[0.5, 0.5]], key=[3]).mean[0] - 0.5 - level[3]
    >>> len(fleet), bool(abs(error) < 0.2)
    (20, True)
    """

    unit = "row"

    def __init__(
        self,
        model: str | None = None,
        *,
        key: Hashable | None = None,
        window: int = 50,
        n_particles: int = 30,
        members: str | Sequence[Mapping[str, Any]] | None = None,
        own: bool = True,
        classes: Sequence[Hashable] | None = None,
        categories: Mapping[str, Sequence[Hashable]] | None = None,
        discount: float = 0.98,
        tempering: float = 0.3,
        block: int = 100,
        full_rows: int = 5000,
        thin: int = 16,
        hot: int = 500,
        late: str = "drop",
        store: str | os.PathLike[str] | None = None,
        seed: int | None = None,
    ) -> None:
        if model is not None:
            remedy = (
                f"A column of keys is named by key={model!r}." if key is None else ""
            )
            params.one_of("model", model, LEAVES, remedy)
        self.key = key
        self.window = params.count("window", window, 1)
        self.n_particles = params.count("n_particles", n_particles, 1)
        self.members = members
        self.own = params.flag("own", own)
        self.discount = params.discount_factor("discount", discount)
        self.tempering = params.positive("tempering", tempering)
        self.block = params.count("block", block, 1)
        self.full_rows = params.count("full_rows", full_rows, 0)
        self.thin = params.count("thin", thin, 1)
        self.hot = params.count("hot", hot, 1)
        self.late = params.one_of("late", late, LATE)
        self.seed, self._seed_given = given_or_drawn(seed), seed is not None
        self.is_frozen, self.n_skipped = False, 0
        self.snapshot_id: str | None = None
        self._snapshots: list[str] = []  # of this model so far
        self._n_beside = 0  # rows of all keys, beside a snapshot
        self.autocommit, self.notes = True, dict[str, Any]()
        self._file: KeyFile | None = None
        self._cold: MutableMapping[str, bytes] = {}
        self._saved_rows = -1  # of ended blocks, in the store
        self._n_uncommitted = 0  # rows since the last commit
        self._call: dict[str, Any] | None = None  # what a call under way takes back
        self._is_open = model is None and classes is None
        self._watch = NumbersWatch() if self._is_open else None
        self._lock = ModelLock()
        usual = "linear" if classes is None else "class"
        leaves: dict[str, Any] = {"classes": classes, "categories": categories}
        self._begin(TreeOptions(model or usual, **leaves))
        if store is not None:
            self._open_store(store)

    def _begin(self, options: TreeOptions) -> None:
        """Have no rows, and leaves for such responses."""
        self.state = TreeState(options, self.seed)  # of columns, labels and warnings
        self._key_kinds: set[str] = set()
        self._n_shares: int | None = None  # labels that the history has as inputs
        blank = self._fresh_tree(0, False)  # refuses what no tree can have
        self._fresh_streams()
        totals = self._law.blank()[2]
        by_age = np.zeros((N_AGES, 2 + self.own))
        self._shared = Shared(None, None, Fleet(totals, 0, np.zeros(N_GRID)), by_age)
        self._waiting: list[Waiting] = []
        self._keys = Keys(Codec(blank), lambda: self._features, self.hot, self._cold)

    def _fresh_tree(self, seed: int, knows_labels: bool = True) -> StreamingTree:
        """A key's own tree without rows."""
        options = self.state.options
        return StreamingTree(
            options.model, window=self.window, n_particles=self.n_particles,
            classes=options.classes if knows_labels else None, seed=seed,
        )  # fmt: skip

    def _fresh_streams(self) -> list[AveragedStream]:
        """Streams of level and history without rows."""
        options, members = self.state.options, self.members
        model = options.model if options.is_count else MIXED
        if options.has_labels:
            model = "class"
        if (
            members is None
            and model == MIXED
            and len(self.feature_names) <= MANY_COLUMNS
        ):
            members = "fast"
        classes = options.classes
        return [
            AveragedStream(model, members=members, classes=classes, seed=seed)
            for seed in spawned(self.seed, 2)
        ]

    # ------------------------------------------------------------ what it is
    @property
    def model(self) -> str:
        """The model in the leaves of the keys' own trees."""
        return self.state.options.model

    @property
    def is_classifier(self) -> bool:
        """Whether responses are labels."""
        return self.state.options.has_labels

    @property
    def classes(self) -> tuple[Hashable, ...] | None:
        """Labels in the order of the probabilities; None until they are known."""
        return self.state.options.classes

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Column names of X without that of keys, if it had names."""
        features = self.state.features
        return None if features is None else features.names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features; x0, x1, ... where none were given."""
        features = self.state.features
        return () if features is None else features.feature_names

    @property
    def n_seen(self) -> int:
        """Number of rows learned, also those of keys that were dropped since.

        Of a model beside a snapshot, number of rows of its keys, with what they learned
        before the snapshot was theirs; each row counts once, and those of dropped keys
        do not. `facts` has the rows of the snapshot itself.
        """
        return self._n_beside if self.snapshot_id else self._n_streamed

    @property
    def _n_streamed(self) -> int:
        """Number of rows that shared streams have, or wait for."""
        return self._shared.n_rows + sum(len(some.y) for some in self._waiting)

    @property
    def is_ready(self) -> bool:
        """Whether the model can predict, because it or its snapshot learned rows."""
        return self._n_streamed > 0

    def __len__(self) -> int:
        """Number of keys."""
        return len(self._keys)

    @locked
    def __contains__(self, key: object) -> bool:
        """Whether a key has had a row; False for what can be no key."""
        self._check_usable()
        try:
            text = key_text(keys_of([key], 1)[0])
        except (TypeError, ValueError):
            return False
        return text in self._keys

    @locked
    def keys(self) -> list[Key]:
        """All keys that have had a row, in the order of their texts."""
        return [*map(key_in, self._keys)]

    def key_named(self, text: str) -> Key:
        """The key that text without a type means, such as a cell of a CSV file.

        Parameters
        ----------
        text : str

        Returns
        -------
        int, bool, date or str
            An integer, a truth value or a date if it is written as one, and some keys
            are of that kind; integers also if there are no keys yet. Else the text.

        Examples
        --------
        >>> import dyntree
        >>> fleet = dyntree.KeyedStream(seed=1)
        >>> fleet.key_named("17"), fleet.key_named("007"), fleet.key_named("a17")
        (17, '007', 'a17')
        >>> fleet.update([[0.5]], [1.0], key=["a17"]).key_named("17")
        '17'
        """
        return key_named(text, self._key_kinds)

    def exclusive(self) -> AbstractContextManager[Any]:
        """Context manager that keeps other threads out of a series of calls."""
        return self._lock

    @locked
    def memory_usage(self) -> int:
        """Bytes used by streams, by live trees, and by blobs in memory."""
        streams = (self._shared.level, self._shared.history)
        shared = sum(one.memory_usage() for one in streams if one is not None)
        return shared + self._keys.nbytes() + 10_000

    @locked
    def facts(self, key: Key | None = None) -> dict[str, Any]:
        """Description of the model, or of one key, as a dict of JSON values.

        Parameters
        ----------
        key : str, int, date or tuple, optional
            A key that has had a row.

        Returns
        -------
        dict
            Of the model: its shared streams, the number of keys, and the weights of the
            members by the number of rows of a key. Of a key: its rows, level, weights
            and last position.
        """
        if key is not None:
            state = self._state_of(key)
            return {
                "rows learned": state.n_rows,
                "position": state.position,
                "level": self._level_of(state),
                "weights": self.weights(key),
                "has a tree": state.tree is not None,
            }
        streams = {"level": self._shared.level, "history": self._shared.history}
        by_age = map(weights_at, self._shared.by_age)
        return {
            "kind": "KeyedStream",
            "model": self.model,
            "seed": self.seed,
            "columns": [*self.feature_names],
            "classes": plain(self.classes),
            "rows learned": self.n_seen,
            "rows of the shared streams": self._shared.n_rows,
            "keys": len(self),
            "live keys": self._keys.n_hot,
            "rows skipped": self.n_skipped,
            "store": None if self._file is None else self._file.path,
            "weights by age": [weights.round(4).tolist() for weights in by_age],
            "shared": {k: s and s.facts() for k, s in streams.items()},
            "frozen": self.is_frozen,
            "snapshot": self.snapshot_id,
            "bytes in memory": self.memory_usage(),
        }

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in INTERNAL]

    def __repr__(self) -> str:
        beside = f" beside a snapshot of {self._shared.n_rows}"
        return (
            f"<KeyedStream {self.model!r}: {len(self)} keys, {self.n_seen} rows "
            f"learned{beside if self.snapshot_id else ''}>"
        )

    @locked
    def weights(self, key: Key) -> dict[str, float]:
        """Weights of the members at the next row of a key.

        Parameters
        ----------
        key : str, int, date or tuple
            A key that has had a row.

        Returns
        -------
        dict of float
            Of "level", "history", and "own" where keys have trees.
        """
        state = self._state_of(key)
        shares = weights_at(
            state.log_weights + self._shared.by_age[age_of(state.n_rows)]
        )
        return dict(zip(MEMBERS, shares.tolist(), strict=False))

    @locked
    def model_of(self, key: Key) -> StreamingTree:
        """Return a copy of the own tree of a key.

        Parameters
        ----------
        key : str, int, date or tuple
            A key that has had a row.

        Returns
        -------
        StreamingTree

        Raises
        ------
        ValueError
            If the key has had no row.
        NotReadyError
            If keys have no trees of their own.
        """
        tree = self._state_of(key).tree
        if tree is None:
            raise NotReadyError(
                "model_of needs keys with trees of their own: own=True."
            )
        return tree.copy()

    @locked
    def drop(self, key: Key) -> Self:
        """Forget a key; the shared streams keep what they learned from its rows.

        Its last position is forgotten, too: rows of it that are sent again are learned
        again. Stop the source of its rows before.

        Parameters
        ----------
        key : str, int, date or tuple
            A key that has had a row.

        Returns
        -------
        KeyedStream
            The model itself.
        """
        self._check_writable()
        n_rows = self._state_of(key).n_rows
        with late_interrupts():
            self._keys.drop(key_text(keys_of([key], 1)[0]))
            self._n_beside -= n_rows if self.snapshot_id else 0
        self._commit_if_due()
        return self

    def _state_of(self, key: Key) -> KeyState:
        """The state of a key that must have had a row."""
        self._check_usable()
        plain_key = keys_of([key], 1)[0]
        state = self._keys.get(key_text(plain_key))
        if state is None:
            raise ArgumentError("key", "must have had a row", plain_key)
        return state

    def _level_of(self, state: KeyState) -> Any:
        """The level of a key: an offset, or factors, as JSON has it."""
        one = np.zeros(1, dtype=np.int64)
        pair = [(state.level, state.past)]
        blank = Prediction.of_sample([0.0, 1.0], 1)
        found = self._law.levels(
            self._shared.fleet, pair, one, blank, None, np.ones(1), True
        )
        return found.at[0].tolist()

    # ------------------------------------------------------------ rows
    @property
    def _features(self) -> FeatureMap:
        """The columns, once there are some."""
        assert self.state.features is not None
        return self.state.features

    @property
    def _law(self) -> Law:
        """Levels and histories of keys for such responses."""
        options = self.state.options
        if options.has_labels:
            n = len(options.classes or ())
            return LabelLaw(
                options.classes or (), n if self._n_shares is None else self._n_shares
            )
        return CountLaw() if options.is_count else RealLaw()

    def _rows(self, X: Any, key: Any, exposure: Any, position: Any = None) -> KeyedRows:
        """Rows of users, or previewed ones, with their keys."""
        if isinstance(X, KeyedRows):
            return X
        X, position = position_apart(X, position)
        rest, keys = apart_from_key(X, key, self.key)
        n_rows = len(keys)
        for name, values in (("exposure", exposure), ("position", position)):
            check_paired(X, values, name)
        at = exposures_of(self.state, exposure, n_rows)
        return KeyedRows(keys, rest, at, positions_of(position, n_rows))

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """Levels, as text, of each column whose levels are known or were named."""
        found = {} if self.state.features is None else self._features.levels_of
        texts = {name: (*own.places,) for name, own in found.items()}
        return dict(self.state.options.categories or ()) | texts

    @property
    def columns_without_values(self) -> tuple[str, ...]:
        """Columns without any value so far, whose type is still open."""
        return () if self.state.features is None else self._features.unknown

    def fix_columns(self, features: FeatureMap) -> None:
        """Set the columns of rows before the first row comes, as in `TreeModel`."""
        if self.is_ready:
            raise ValueError(
                "columns can be set only before the first row; "
                f"{self._n_streamed} rows have come."
            )
        self.state.features = features

    @locked
    def preview(
        self, X: Any, y: Any, start: int | None = None
    ) -> tuple[KeyedRows, list[Any]]:
        """Check and encode a stream that is to be learned; see `Learner.preview`."""
        self._check_usable()
        if start is not None:
            params.count("start", start, 0)
        check_paired(X, y)
        with self._leaves_for(y):
            rows = self._rows(X, None, None)
            responses = responses_of(self.state, y, len(rows))
            if not len(rows):
                raise ArgumentError("X", "must have at least one row", Message("none"))
            features, growth = self._learnable(rows.X, responses)
        ahead = Encoded(features.copy(), growth.features)
        return KeyedRows(rows.keys, ahead, rows.exposure, rows.positions), responses

    # ------------------------------------------------------------ learning
    @locked
    def update(
        self,
        X: Any,
        y: Any,
        key: Any = None,
        *,
        position: Any = None,
        exposure: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Learn rows in order.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            As in `DynamicTree.update`, with the column of keys if there is one.
        y : array_like of shape (n_rows,), or name of a column of a frame
            Responses, counts or labels.
        key : array_like of shape (n_rows,), or name of a column, optional
            The default is the option `key`.
        position : array_like of int of shape (n_rows,), or name of a column, optional
            Positions of the rows in their source, such as offsets of a log. A row whose
            position is not larger than the last of its key is late; see `late`. A
            column of that name is no feature: leave it out in `predict`, as that of y.
        exposure : array_like of shape (n_rows,) or float, optional
            Exposures of counts; by default 1.
        progress : bool, callable or None, default None
            As in `DynamicTree.update`.

        Returns
        -------
        KeyedStream
            The model itself.

        Raises
        ------
        ValueError
            If the input is bad; nothing is learned then.
        TypeError
            For keys of a type that keys cannot have.
        KeyboardInterrupt
            If the call is interrupted. One of up to a thousand rows is learned before,
            and of a longer one nothing is. With a store and `autocommit` a longer one
            goes back to the last commit within it: `n_seen` says how many rows there
            are, in the file and in memory.

        Warns
        -----
        KeyTypeWarning
            Once, if keys have another type than those of earlier calls.
        ManyKeysWarning
            Once, if nearly every row has another key.
        """
        self._take(X, y, key, position, exposure, progress, None)
        return self

    @locked
    def predict_then_learn(
        self,
        X: Any,
        y: Any,
        key: Any = None,
        *,
        position: Any = None,
        exposure: Any = None,
        progress: Progress = None,
    ) -> Prediction | ClassPrediction:
        """Predict each row before it is learned, and learn it.

        Parameters
        ----------
        X, y, key, position, exposure, progress
            As in `update`. Rows that are left out because of their position are
            predicted, too.

        Returns
        -------
        Prediction, CountPrediction or ClassPrediction
            At the first rows of all there is nothing to go by: the variance is infinite
            then. Labels that come late have the probability 0 before.
        """
        answers: list[Any] = []
        self._take(X, y, key, position, exposure, progress, answers)
        together: Prediction | ClassPrediction = self._law.together(answers)
        return together

    def _take(
        self, X: Any, y: Any, key: Any, position: Any, exposure: Any,
        progress: Progress, answers: list[Any] | None,
    ) -> None:  # fmt: skip
        """Check rows and learn them in parts; `answers` gains their predictions."""
        check_progress(progress)
        self._check_writable()
        if isinstance(y, str):
            X, y = response_apart(X, y)
        if is_nothing(X) and not np.size(y):
            if answers is not None:
                none = np.empty(0)
                answers.append(self._law.cold(none, none, none))
            return
        check_paired(X, y)
        with self._leaves_for(y):
            self._begin_call()
            try:
                part = self._part(X, y, key, position, exposure)
                is_short = len(part) <= AT_ONCE and not callable(progress)
                with late_interrupts() if is_short else nullcontext():
                    if is_short:
                        self._end_call()
                    with rows_bar(progress, len(part), "learning") as tell:
                        self._go_through(part, answers, tell)
            except BaseException:
                with late_interrupts():
                    self._take_back()
                raise
            self._end_call()
        self._commit_if_due()

    def _begin_call(self) -> None:
        """Note what a call changes, so that it can be taken back.

        States of keys are noted as they learn, which takes a sixth of the time of a
        call of a thousand rows. Shorter ones note nothing: interrupts wait.
        """
        self._keys.begin()
        names = ("_n_shares", "_shared", "_n_beside", "n_skipped", "_n_uncommitted")
        self._call = {name: getattr(self, name) for name in names} | {
            "_key_kinds": {*self._key_kinds},
            "_waiting": [*self._waiting],
            "state": (self.state.options, self.state.features),
        }

    def _end_call(self) -> None:
        """Have all that a call has learned."""
        self._call = None
        self._keys.begin()

    def _take_back(self) -> None:
        """Be as before the call under way, or at the last commit within it."""
        before, self._call = self._call, None
        if before is None or (self._file is not None and self._file.is_closed):
            return
        self.state.options, self.state.features = before.pop("state")
        vars(self).update(before)
        self._keys.take_back()

    def _part(self, X: Any, y: Any, key: Any, position: Any, exposure: Any) -> Part:
        """Rows, checked; no column begins with one that is not to be learned."""
        rows = self._rows(X, key, exposure, position)
        responses = responses_of(self.state, y, len(rows))
        if not len(rows):
            raise ArgumentError("X", "must have at least one row", Message("none"))
        if self.state.options.is_count:
            responses = exposed(np.array(responses), rows.exposure)
        texts = [*map(key_text, rows.keys)]
        learns = self._in_time(texts, rows.positions)
        features, growth = self._learnable(rows.X, responses)
        if growth.steps and not learns.all():
            features, growth = self._grown_by(rows.X, responses, learns)
        self._check_scale(features, growth, responses)
        if not self.is_frozen:
            count_levels(self.state, growth.features, features)
        warn_of_many(self.state, growth.features)
        kinds = {*self._key_kinds} if self.is_frozen else self._key_kinds
        self._warn_of_types(texts, kinds)
        return Part(rows, texts, features, growth, responses, learns)

    def _grown_by(
        self, X: Any, y: list[Any], learns: NDArray[np.bool_]
    ) -> tuple[Matrix, Growth]:
        """Rows -> features, with the columns that begin with those that are learned.

        The others have the columns that there are at their places.
        """
        some, late = np.flatnonzero(learns), np.flatnonzero(~learns)
        if not len(some):
            features = self._features
            none = Growth(features, [], features.widen)
            return encoded(self.state, features, X), none
        part, growth = self._learnable(take(X, some), [y[k] for k in some.tolist()])
        rows = np.full((len(learns), part.shape[1]), np.nan)
        rows[some] = part
        begun = [first for first, _ in growth.steps]
        stage = np.searchsorted(begun, np.searchsorted(some, late))
        maps = [growth.before, *(features for _, features in growth.steps)]
        for k in np.unique(stage).tolist():
            mine = late[stage == k]
            codes = encoded(self.state, maps[k], take(X, mine))
            rows[mine, : codes.shape[1]] = codes
        steps = [(int(some[first]), features) for first, features in growth.steps]
        return rows, replace(growth, steps=steps)

    def _learnable(self, X: Any, y: list[Any]) -> tuple[Matrix, Growth]:
        """Rows -> features; beside a snapshot no column and no label begins."""
        if self.snapshot_id is None:
            return learnable_rows(self.state, X, y)
        for row, label in enumerate(y if self.is_classifier else ()):
            if label not in (self.classes or ()):
                raise ArgumentError(
                    "y",
                    "must be a label that the snapshot knows, one of {classes}",
                    label,
                    "Name all labels by classes=, or learn such rows and make another "
                    "snapshot.",
                    row=row,
                    classes=[*(self.classes or ())],
                )
        features = self._features
        return encoded(self.state, features, X), Growth(features, [], features.widen)

    @contextmanager
    def _leaves_for(self, y: Any) -> Iterator[None]:
        """Let the first responses choose labels, if nobody named a model."""
        watch, options = self._watch, self.state.options
        before = {} if not self._is_open else dict(vars(self)) | {
            "_key_kinds": {*self._key_kinds}, "_waiting": [*self._waiting]
        }  # fmt: skip
        if self._is_open and not self.is_ready and are_labels(y):
            self._begin(replace(options, model="class"))
        elif watch is not None and not self.is_classifier:
            self._watch = watch.after(y, options.model)
        try:
            yield
        except BaseException:
            self._watch = watch
            if not self.is_ready:
                vars(self).update(before)
            raise
        if self.is_ready:
            self._is_open = False

    def _check_scale(self, X: Matrix, growth: Growth, y: list[Any]) -> None:
        """Refuse what the shared streams could not learn at the end of a block."""
        numbers = np.zeros(len(y))
        if not (self.is_classifier or self.state.options.is_count):
            numbers = np.array(y)
        features, level = growth.features, self._shared.level
        if level is not None:
            before = level.state.features
            assert before is not None
            known = np.ascontiguousarray(X[:, : before.n_features])
            check_scale(level.state.cloud, before, known, numbers)
            return
        last = min(FIRST_BLOCK - self.n_seen, len(y)) - 1  # of the first block
        width = growth.at(last).n_features + len(self._law.input_names)
        self._check_members(width)
        waiting = self._waited()
        if waiting is not None:
            X = np.concatenate([features.widen(waiting.X), X])
            if numbers.any():
                numbers = np.concatenate([np.array(waiting.y), numbers])
        if len(X) >= FIRST_BLOCK:
            check_first(features, X, numbers, FIRST_BLOCK)

    def _check_members(self, width: int) -> None:
        """Refuse members of the user's whose windows are too small for the columns."""
        if self.members is None or isinstance(self.members, str):
            return
        for member in self._fresh_streams()[0].members:
            if isinstance(member, StreamingTree):
                member.options.check_model(member.state.options.with_width(width))

    def _in_time(
        self, texts: list[str], positions: list[int] | None
    ) -> NDArray[np.bool_]:
        """Which rows are to be learned, by their positions; others are counted."""
        learns = np.full(len(texts), not self.is_frozen)
        if positions is None or self.late == "learn":
            return learns
        last: dict[str, int | None] = {}
        for row, (text, at) in enumerate(zip(texts, positions, strict=True)):
            if text not in last:
                state = self._keys.get(text)
                last[text] = None if state is None else state.position
            before = last[text]
            if before is not None and at <= before:
                learns[row] = False
            else:
                last[text] = at
        return learns

    def _go_through(
        self, part: Part, answers: list[Any] | None, tell: Callable[[int], None]
    ) -> None:
        """Learn rows, or predict those that are not to be learned, in order."""
        first = 0
        while first < len(part):
            end = self._end_of_run(part, first)
            run = part[first:end]
            if part.learns[first]:
                with late_interrupts():
                    try:
                        self._learn(run, answers)
                    except Exception:
                        if first and self._call is None and self._file is not None:
                            self._file.close()  # as no commit may write half a call
                        raise
                    if end == len(part):
                        self._end_call()  # nobody takes it back any more
            else:
                self.n_skipped += 0 if self.is_frozen else end - first
                if answers is not None:
                    answers.append(
                        self._answered(run.texts, run.X, run.features, run.exposure)
                    )
            self._n_uncommitted += end - first
            is_long = self._n_uncommitted >= COMMIT_ROWS
            if is_long and not self._waiting and end < len(part):
                self._commit_if_due()
            tell(end - first)
            first = end
        self._warn_of_many()

    def _end_of_run(self, part: Part, first: int) -> int:
        """End of rows that can be learned together, from one on.

        They are of one block, have the same columns, and bring no label but with the
        first of them.
        """
        if not part.learns[first]:
            rest = np.flatnonzero(part.learns[first:])
            return first + int(rest[0]) if len(rest) else len(part)
        is_cold = self._shared.level is None  # where each row moves the prediction
        room = 1 if is_cold else self._shared.block_end(self.block) - self.n_seen
        if self.snapshot_id is not None:
            room = MOST_BESIDE
        end = part.growth.steady(first, min(first + room, len(part)))
        stops = np.flatnonzero(~part.learns[first:end])
        end = first + int(stops[0]) if len(stops) else end
        if self.is_classifier:
            known = {*(self.classes or ()), part.y[first]}
            new = [row for row in range(first, end) if part.y[row] not in known]
            end = new[0] if new else end
        return end

    def _learn(self, run: Run, answers: list[Any] | None) -> None:
        """Learn a run of rows; no interrupt may come meanwhile.

        What may fail, or warn, is done before anything changes that cannot be undone.
        """
        texts = [*dict.fromkeys(run.texts)]
        before = {text: self._keys.get(text) for text in texts}  # one may be damaged
        classes = known_classes(self.state, run.y)
        if classes != self.classes:  # those that the type of the first labels names
            self.state.options = replace(self.state.options, classes=classes)
        n_known = len(classes or ())
        self.state.features = run.features
        self._take_labels(run.y)
        law = self._law
        if isinstance(law, LabelLaw):
            law.n_known = n_known
        place = {text: k for k, text in enumerate(texts)}
        which = np.array([place[text] for text in run.texts])
        states = {
            text: state or self._fresh_state(law, text)
            for text, state in before.items()
        }
        numbers, _ = law.numbers(run.y)
        if self._call is not None:
            self._keys.remember(texts)
        owned = [*states.values()]
        members, levels = self._members_at(law, run, owned, which, numbers)
        with silenced(Warning):  # the rows were looked at before
            self._move(law, run, owned, which, members, levels, answers)
            self._keys.put(states)
            if self.snapshot_id is not None:
                self._n_beside += len(run)
            elif self.n_seen >= self._shared.block_end(self.block):
                self._end_block()

    def _move(
        self, law: Law, run: Run, states: Sequence[KeyState], which: Ints,
        members: list[Any], levels: Levels, answers: list[Any] | None,
    ) -> None:  # fmt: skip
        """Let keys learn a run, which then waits for the end of the block."""
        own: list[Any] | None = None if answers is None else [None] * len(run)
        densities = [law.log_density(member, run.y) for member in members]
        if self.own:
            densities.append(self._taught(run, states, which, densities[0], own))
        log_densities = np.column_stack(densities)
        ages, shares = self._weighed(states, which, log_densities)
        for state, level, past in zip(states, levels.levels, levels.pasts, strict=True):
            state.level, state.past = level, past
        if run.positions is not None:
            for k, at in zip(which.tolist(), run.positions, strict=True):
                before = states[k].position
                states[k].position = at if before is None else max(before, at)
        if answers is not None:
            answers.append(self._mixture(law, members, own, shares, run.exposure))
        if self.snapshot_id is not None:
            for state in states:
                state.snapshot = self.snapshot_id
            return
        self._waiting.append(
            Waiting(
                run.X, run.y, levels.at, levels.past, levels.misses, ages, log_densities
            )
        )

    def _take_labels(self, y: list[Any]) -> None:
        """Give new labels a place after the others."""
        if not self.is_classifier:
            return
        known = self.classes or ()
        new = [label for label in dict.fromkeys(y) if label not in known]
        if new:
            self.state.options = replace(self.state.options, classes=(*known, *new))

    def _fresh_state(self, law: Law, text: str) -> KeyState:
        """The state of a key without rows."""
        level, past, _ = law.blank()
        tree = self._fresh_tree(key_seed(self.seed, text)) if self.own else None
        if tree is not None:
            tree.state.warned = self.state.warned  # each warning once, of all keys
        return KeyState(0, None, start_of(2 + self.own), level, past, tree)

    def _members_at(
        self, law: Law, run: Run, states: Sequence[KeyState], which: Ints, y: Any
    ) -> tuple[list[Any], Levels]:
        """Predictions of level and history at a run, and the levels of its keys."""
        shared = self._shared
        base = shared.base(law, run.X, run.features, run.exposure)
        keys = [(state.level, state.past) for state in states]
        levels = law.levels(
            shared.fleet, keys, which, base, y, run.exposure, base is not None
        )
        if base is None:
            waiting = self._waited()
            so_far = law.numbers([] if waiting is None else waiting.y)
            return [law.cold(*so_far, run.exposure)] * 2, levels
        both = shared.answers(law, run.X, run.features, base, levels, run.exposure)
        return [*both], levels

    def _taught(
        self, run: Run, states: Sequence[KeyState], which: Ints, by_level: Vector,
        own: list[Any] | None,
    ) -> Vector:  # fmt: skip
        """Let own trees learn a run; their log densities, or those of the level."""
        found = by_level.copy()
        for k, state in enumerate(states):
            rows = np.flatnonzero(which == k)
            assert state.tree is not None
            if not state.tree.is_ready:
                state.tree = fitting(state.tree, run.features)
            answers: list[Any] | None = None if own is None else []
            y = [run.y[row] for row in rows.tolist()]
            X = np.ascontiguousarray(run.X[rows])
            densities = learned(state.tree, X, run.features, y, answers)
            sound = np.isfinite(densities)
            found[rows[sound]] = densities[sound]
            for row, before in zip(rows.tolist(), answers or (), strict=False):
                own[row] = before  # type: ignore[index]
        return found

    def _weighed(
        self, states: Sequence[KeyState], which: Ints, log_densities: Matrix
    ) -> tuple[Ints, Matrix]:
        """Move the weights of keys by a run; ages and weights before each row."""
        ages = np.empty(len(which), dtype=np.int64)
        shares = np.empty_like(log_densities)
        for row, k in enumerate(which.tolist()):
            state = states[k]
            ages[row] = age_of(state.n_rows)
            shares[row] = weights_at(state.log_weights + self._shared.by_age[ages[row]])
            state.log_weights = moved(
                state.log_weights, log_densities[row], self.discount, self.tempering
            )
            state.n_rows += 1
        return ages, shares

    def _mixture(
        self, law: Law, members: list[Any], own: list[Any] | None, shares: Matrix,
        exposure: Vector,
    ) -> Any:  # fmt: skip
        """The answer at some rows: `own` has predictions of single rows, or None."""
        if own is not None and self.own:
            rows = [None if one is None else (law.of_model(one), 0) for one in own]
            members = [*members, law.spliced(members[0], rows)]
        return law.mixed(members, shares, exposure)

    def _waited(self) -> Waiting | None:
        """All rows of the block so far, as one; None where it has none."""
        if len(self._waiting) > 1:
            self._waiting = [joined_rows(self._waiting, self._features)]
        return self._waiting[0] if self._waiting else None

    def _end_block(self) -> None:
        """Let the shared streams learn the block."""
        if self._call is not None and self._call["_shared"] is self._shared:
            self._call["_shared"] = self._shared.copy()
        rows = joined_rows(self._waiting, self._features)
        if self._n_shares is None:
            self._n_shares = len(self.classes or ())
        n_rows = self._shared.n_rows
        thin = self.thin if 0 < n_rows >= self.full_rows else 1
        self._shared = self._shared.after_block(
            self._law, rows, self._features, self._fresh_streams, thin, self.discount,
            self.tempering,
        )  # fmt: skip
        self._waiting = []

    def _warn_of_types(self, texts: Sequence[str], seen: set[str]) -> None:
        """Warn once of keys of several types, in one call or since the first one.

        `seen` has the types of earlier calls, and gains those of this one.
        """
        kinds = dict.fromkeys(map(key_kind, texts))
        new = [kind for kind in kinds if kind not in seen]
        if not new:
            return
        if len(seen | {*new}) > 1 and "key types" not in self.state.warned:
            text = "keys were {old} before and some are {new} now"
            old = min(seen, default=new[0])
            warn(
                KeyTypeWarning,
                (text if seen else "some keys are {old} and others {new}")
                + ": these are other keys, as 1 and '1' are. Readers of files often "
                "change the type of a column; convert it to one type.",
                old=old,
                new=next(kind for kind in new if kind != old),
            )
            self.state.warned.add("key types")
        seen.update(new)

    def _warn_of_many(self) -> None:
        """Warn once if nearly every row has a key of its own."""
        if self.n_seen < MANY_ROWS or "keys" in self.state.warned:
            return
        if len(self) > MANY_NEW * self.n_seen:
            warn(
                ManyKeysWarning,
                "nearly every row has its own key: {n_keys} keys in {n_rows} rows. Is "
                "{key!r} the right column?",
                n_keys=len(self), n_rows=self.n_seen, key=self.key,
            )  # fmt: skip
            self.state.warned.add("keys")

    @locked
    def freeze(self) -> Self:
        """Stop learning: from now on `update` checks its rows, but learns nothing."""
        self._check_writable()
        self.is_frozen = True
        self._commit_if_due()
        return self

    # ------------------------------------------------------------ predictions
    @locked
    def predict(
        self, X: Any, key: Any = None, *, exposure: Any = None
    ) -> Prediction | ClassPrediction:
        """Predictive distribution at each row of X; nothing is learned.

        Parameters
        ----------
        X, key, exposure
            As in `update`. A key without rows is predicted as new keys are.

        Returns
        -------
        Prediction, CountPrediction or ClassPrediction

        Raises
        ------
        NotReadyError
            Before the first row, unless `classes` names labels.
        ValueError
            If the input is bad.
        """
        self._check_usable()
        if not self.is_ready and self.state.options.classes is None:
            self.state.require_rows("predict")
        rows = self._rows(X, key, exposure)
        features = self.state.features
        if features is None:  # before the first row, of named labels
            found = self._law.cold(np.empty(0), np.empty(0), rows.exposure)
        else:
            own, texts = encoded(self.state, features, rows.X), map(key_text, rows.keys)
            asked = [*texts]
            self._warn_of_types(asked, {*self._key_kinds})
            found = self._answered(asked, own, features, rows.exposure)
        prediction: Prediction | ClassPrediction = found
        return prediction

    def _answered(
        self, texts: Sequence[str], X: Matrix, features: FeatureMap, exposure: Vector
    ) -> Any:
        """Predictions at encoded rows of keys."""
        law = self._law
        unique = [*dict.fromkeys(texts)]
        place = {text: k for k, text in enumerate(unique)}
        which = np.array([place[text] for text in texts], dtype=np.int64)
        level, past, _ = law.blank()
        blank = KeyState(0, None, start_of(2 + self.own), level, past)
        states = [self._keys.get(text) or blank for text in unique]
        run = Run([*texts], X, features, [], exposure, None)
        members, _ = self._members_at(law, run, states, which, None)
        shares = np.array(
            [
                weights_at(
                    states[k].log_weights
                    + self._shared.by_age[age_of(states[k].n_rows)]
                )
                for k in which.tolist()
            ]
        ).reshape(len(texts), 2 + self.own)
        if self.own:
            rows: list[Any] = [None] * len(texts)
            for k, state in enumerate(states):
                if state.tree is not None and is_usable(state.tree):
                    mine = np.flatnonzero(which == k)
                    asked = np.ascontiguousarray(X[mine])
                    for row, own in zip(
                        mine.tolist(),
                        answers_of(state.tree, asked, features, exposure[mine], law),
                        strict=True,
                    ):
                        rows[row] = own
            members = [*members, law.spliced(members[0], rows)]
        return law.mixed(members, shares, exposure)

    # ------------------------------------------------------------ snapshots
    @locked
    def snapshot(self) -> Self:
        """Return a model without keys, whose shared streams learn no more.

        Keys that learn beside a snapshot depend on nothing but their own rows, in
        order, and the snapshot. They can therefore learn apart, on several machines or
        processes; `take` puts them together.

        Returns
        -------
        KeyedStream
            With the streams, the weights by age and of the levels, and the columns and
            labels of this model. Later levels of its columns count as missing, and
            later labels are refused. Rows of a block that has not ended are not in it.

        Raises
        ------
        NotReadyError
            Before the tenth row, as there are no streams. Learn some thousands of rows
            before: streams that stop early predict worse.

        Notes
        -----
        A snapshot has an id, `snapshot_id`, a hash of all that is in it. The state of
        each key names that with which it learned last. A model can go on learning and
        give another snapshot; keys then continue with the later one, which takes them
        from models beside the earlier one, or as bytes. The weights and levels of a key
        stay as they are: it is not as if it had learned its rows beside the later one.

        Examples
        --------
        >>> import numpy as np
        >>> from dyntree import KeyedStream
        >>> rng = np.random.default_rng(0)
        >>> X, shop = rng.random((300, 2)), rng.integers(0, 10, 300)
        >>> y = X[:, 0] + shop
        >>> snapshot = KeyedStream(seed=1).update(X, y, key=shop).snapshot()
        >>> even = shop % 2 == 0
        >>> one = snapshot.copy().update(X[even], y[even], key=shop[even])
        >>> other = snapshot.copy().update(X[~even], y[~even], key=shop[~even])
        >>> together = one.take(other)
        >>> whole = snapshot.copy().update(X, y, key=shop)
        >>> len(together), together.export() == whole.export()
        (10, True)
        """
        if self._shared.level is None:
            raise NotReadyError(
                "snapshot needs shared streams, which begin with the tenth row; "
                f"{self.n_seen} rows have come."
            )
        if self.snapshot_id is None and self._identity() not in self._snapshots:
            self._check_writable()
            self._snapshots.append(self._identity())
            self._commit_if_due()
        twin = self._without_rows()
        twin.snapshot_id = self._snapshots[-1]
        twin.is_frozen, twin.n_skipped, twin._n_beside = False, 0, 0
        twin.notes, twin.autocommit = {}, True
        return twin

    def _identity(self) -> str:
        """The id of a snapshot of the shared streams as they are now."""
        header, arrays = rest_arrays(self._shared, None)
        header["streams"], streams = stream_arrays(self._shared)
        header |= {name: getattr(self, name) for name in (*MUST_AGREE, "seed")}
        header |= {
            "trees": asdict(self.state.options),
            "features": self._features.to_header(),
            "n_shares": self._n_shares,
        }
        return digest(with_labels(header, to_json), arrays | streams)

    @locked
    def export(self, keys: Iterable[Key] | None = None) -> dict[Key, bytes]:
        """States of keys as bytes, which `take` and the engines of `dyntree.api` read.

        Parameters
        ----------
        keys : iterable of str, int, date or tuple, optional
            Keys that have had rows; by default all.

        Returns
        -------
        dict of bytes
            By the keys, in the order of their texts; equal states are equal bytes.

        Raises
        ------
        NotReadyError
            If the model is not beside a snapshot, and has learned, or made none, since
            it gave the last one.
        ValueError
            If a key has had no row, or two are equal in Python, such as 1 and True.
        """
        snapshot = self.snapshot_id
        if snapshot is None and self._snapshots:
            snapshot = self._identity()
        if snapshot not in self._snapshots[-1:]:
            raise NotReadyError(
                "export needs a snapshot beside which the keys go on. Call snapshot() "
                "after the last row, and then export."
            )
        texts = [*self._keys] if keys is None else self._texts_of([*keys])
        if self.snapshot_id is not None:
            blobs = dict(self._keys.blobs(texts))
        else:
            blobs = {text: self._stamped(text, snapshot) for text in texts}
        by_key = {key_in(text): blob for text, blob in blobs.items()}
        if len(by_key) < len(blobs):
            keys = [*map(key_in, blobs)]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ArgumentError(
                "keys",
                "must differ in Python, which takes 1 and True, or one moment in two "
                "zones, for one key of a dict",
                Message("{key!r} twice", key=twice),
                "Export such keys one at a time, or let take() have the model itself.",
            )
        return by_key

    def _texts_of(self, keys: list[Key]) -> list[str]:
        """Texts of keys that must have had rows, in their order."""
        for key in keys:
            self._state_of(key)
        return sorted({*map(key_text, keys_of(keys, len(keys)))})

    def _stamped(self, text: str, snapshot: str | None) -> bytes:
        """The blob of a key that learned beside moving streams."""
        state = self._keys.get(text)
        assert state is not None
        return self._keys.codec.dumps(replace(state, snapshot=snapshot))

    def take(self, other: Self | Mapping[Key, bytes]) -> Self:
        """Have also the keys of another model beside the same snapshot.

        Parameters
        ----------
        other : KeyedStream or dict of bytes
            A model, which stays as it is, or what `export` returned, beside the same
            snapshot or an earlier one of the same fleet. The keys of an earlier one go
            on beside that of this model. A model that has learned nothing takes the
            snapshot of another model, too, so that
            ``KeyedStream(store="fleet.db").take(snapshot)`` has its keys in a file; for
            the same file a second time this changes nothing.

        Returns
        -------
        KeyedStream
            The model itself. Parts that have learned apart, and are taken together in
            any order, are the model that has learned all their rows, byte for byte.

        Raises
        ------
        ValueError
            If a key is in both, or the other has no snapshot, a later or an unrelated
            one, or other options; nothing has changed then.
        CheckpointError
            If bytes are no states of keys of such a model.
        """
        self._check_writable()
        if isinstance(other, Mapping):
            with self._lock, late_interrupts():
                texts = map(key_text, keys_of([*other], len(other), "keys of other"))
                by_text = dict(zip(texts, other.values(), strict=True))
                self._add_blobs(*self._sound_blobs(by_text))
            return self
        if not isinstance(other, KeyedStream) or other.snapshot_id is None:
            raise ArgumentError(
                "other", "must be a KeyedStream beside a snapshot, or what export gave",
                other, "Learn beside a snapshot, as in fleet.snapshot().update(...).",
            )  # fmt: skip
        with other.exclusive():
            header, arrays = other._without_keys()
            header["streams"], streams = stream_arrays(other._shared)
            blobs = dict(other._keys.blobs())
        with self._lock, late_interrupts():
            if header["snapshot"] in self._snapshots[:-1]:
                self._add_blobs(*self._sound_blobs(blobs), header["n_skipped"])
                return self
            if self.snapshot_id != header["snapshot"]:
                self._begin_beside(header, arrays | streams)
            self._refuse_shared_keys(blobs)
            self._key_kinds |= other._key_kinds
            self._add_blobs(blobs, header["n_beside"], header["n_skipped"])
        return self

    def _begin_beside(self, header: Header, arrays: Arrays) -> None:
        """Have the snapshot of another model, if this one has learned nothing."""
        self._check_same(header, "the other model")
        if self.is_ready:
            mine = "none" if self.snapshot_id is None else self.snapshot_id
            raise ArgumentError(
                "other",
                "must be beside the same snapshot as this model, {mine}, or an earlier "
                "one of its fleet",
                Message("{snapshot}", snapshot=header["snapshot"]),
                "Let all parts learn beside copies of one snapshot, and take those "
                "beside an earlier one into a later one.",
                mine=Message(mine),
            )
        own = {"is_frozen": self.is_frozen, "n_skipped": 0}
        self._take_state(header | own, arrays)
        self._n_beside = 0

    def _sound_blobs(self, blobs: Mapping[str, bytes]) -> tuple[dict[str, bytes], int]:
        """Blobs by the texts of keys, in order and checked in full, and their rows."""
        if self.snapshot_id is None:
            raise NotReadyError(
                "take needs a model beside a snapshot: fleet.snapshot().take(blobs)."
            )
        by_text, n_rows = dict(sorted(blobs.items())), 0
        for text, blob in by_text.items():
            with sound_blobs():
                self._check_key(text, blob, sys.maxsize)
            state = self._keys.codec.loads(blob, self._features)
            n_rows += state.n_rows
            if state.snapshot not in self._snapshots:
                raise ArgumentError(
                    "other",
                    "must hold keys beside the snapshot {mine}, or an earlier one of "
                    "its fleet",
                    Message("{key!r} beside {of}", key=key_in(text), of=state.snapshot),
                    mine=Message(self.snapshot_id),
                )
        self._refuse_shared_keys(by_text)
        self._key_kinds |= {*map(key_kind, by_text)}
        return by_text, n_rows

    def _refuse_shared_keys(self, texts: Iterable[str]) -> None:
        """Raise an error if a key is here already."""
        for text in texts:
            if text in self._keys:
                raise ArgumentError(
                    "other", "must have other keys than this model",
                    Message("{key!r}, which both have", key=key_in(text)),
                    "Let one part alone learn the rows of a key.",
                )  # fmt: skip

    def _add_blobs(
        self, blobs: Mapping[str, bytes], n_rows: int, n_skipped: int = 0
    ) -> None:
        """Have sound states of keys, in place of earlier ones."""
        with late_interrupts():
            self._keys.take(blobs)
            self._n_beside += n_rows
            self.n_skipped += n_skipped
        self._commit_if_due()

    # ------------------------------------------------------------ copies and files
    @locked
    def reseeded(self, seed: int) -> Self:
        """Return a copy of a model that has seen no row, with another seed."""
        if self.is_ready:
            raise ValueError(
                Message(
                    "the seed of a model can change only before its first row; "
                    f"{self._n_streamed} rows have come."
                )
            )
        return type(self)(
            **self._arguments()
            | {"seed": params.count("seed", seed, 0, params.MAX_SEED)}
        )

    def _arguments(self) -> dict[str, Any]:
        """Arguments that make such a model without rows."""
        options = self.state.options
        own = {name: getattr(self, name) for name in PLAIN}
        leaves = {"classes": options.classes, "categories": options.categories}
        return own | leaves | {"model": None if self._is_open else options.model}

    @locked
    def copy(self) -> Self:
        """Return an independent model that would draw the same random numbers."""
        twin, waiting = self._without_rows(), self._waited()
        twin._waiting = [] if waiting is None else [waiting]  # which nobody changes
        twin._keys = self._keys.copy(lambda: twin._features)
        return twin

    def _without_rows(self) -> Self:
        """Return a copy without keys or rows that wait."""
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        twin._lock, twin.state = ModelLock(), self.state.copy()
        twin._file, twin._cold, twin._key_kinds = None, {}, {*self._key_kinds}
        twin._snapshots, twin.notes = [*self._snapshots], {**self.notes}
        twin._call = None
        twin._waiting = []
        if self.snapshot_id is None:  # else nobody changes the streams
            twin._shared = self._shared.copy()
        codec = self._keys.codec
        twin._keys = Keys(codec, lambda: twin._features, self.hot, twin._cold)
        return twin

    @locked
    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state of the model; see `DynamicTree.to_arrays`."""
        texts, blobs = blob_arrays(dict(self._keys.blobs()))
        header, arrays = self._without_keys()
        header["streams"], streams = stream_arrays(self._shared)
        return header | {"keys": texts}, arrays | streams | blobs

    def _without_keys(self) -> tuple[Header, Arrays]:
        """Header and arrays of all but keys and streams."""
        header, arrays = rest_arrays(self._shared, self._waited())
        features = self.state.features
        header |= {name: getattr(self, name) for name in PLAIN}
        header |= {
            "kind": "KeyedStream",
            "key": None if self.key is None else to_json(plain_label(self.key)),
            "trees": asdict(self.state.options),
            "features": None if features is None else features.to_header(),
            "is_open": self._is_open,
            "is_frozen": self.is_frozen,
            "n_skipped": self.n_skipped,
            "n_shares": self._n_shares,
            "key_kinds": sorted(self._key_kinds),
        }
        if self._snapshots:
            header["snapshots"] = self._snapshots
            header["snapshot"] = self.snapshot_id
            header["n_beside"] = self._n_beside
        return header, arrays

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model that `to_arrays` described, as a DynamicTree does."""
        options = {name: header[name] for name in PLAIN}
        options["key"] = None if options["key"] is None else from_json(options["key"])
        model = cls(**options)
        rest = dict(arrays)
        blobs = {name: rest.pop(name) for name in BLOBS}
        model._take_state(header, rest)
        cold = blobs_in(header["keys"], blobs)
        for text, blob in cold.items():
            model._check_key(text, blob)
        model._keys.cold.update(cold)
        return model

    def _take_state(self, header: Header, arrays: Arrays) -> None:
        """Have the state that a file describes, but for keys."""
        trees = TreeOptions(**header["trees"])
        self.seed = header["seed"]
        if self.key is None and header["key"] is not None:
            self.key = from_json(header["key"])
        self._is_open = params.flag("is_open", header["is_open"])
        self._watch = NumbersWatch() if self._is_open else None
        self._begin(trees)
        self.is_frozen = params.flag("is_frozen", header["is_frozen"])
        self.n_skipped = params.count("n_skipped", header["n_skipped"], 0)
        require(all(map(is_kind, header["key_kinds"])), "kinds of keys are damaged")
        self._key_kinds = {*header["key_kinds"]}
        if header["features"] is not None:
            self.state.features = FeatureMap.from_header(header["features"])
        if header["n_shares"] is not None:
            most = len(trees.classes or ())
            self._n_shares = params.count("n_shares", header["n_shares"], 0, most)
        self._shared, self._waiting = shared_in(
            header, arrays, self._law, 2 + self.own, self.state.features, trees
        )
        self._snapshots = snapshots_in(header)
        if self._snapshots and header["snapshot"] is not None:
            require(header["snapshot"] == self._identity(), "another snapshot")
            require(not self._waiting, "rows wait beside a snapshot")
            self.snapshot_id = header["snapshot"]
            self._n_beside = params.count("n_beside", header["n_beside"], 0)

    def _check_key(self, text: str, blob: bytes, n_seen: int | None = None) -> None:
        """Raise CheckpointError unless a blob is a sound state of a key."""
        check_key(
            text, blob, self._keys.codec, self.state.features, self._law, 2 + self.own,
            self.seed, self.n_seen if n_seen is None else n_seen,
        )  # fmt: skip

    # ------------------------------------------------------------ a store
    @classmethod
    def from_store(
        cls, store: str | os.PathLike[str], *, read_only: bool = False
    ) -> Self:
        """Return the model in a store, with the options that it has.

        Parameters
        ----------
        store : str or path
            A file that a model with ``store=`` has made.
        read_only : bool, default False
            Whether to read it only. Another process may write it at the same time; the
            model is as at the last commit before this call, and cannot learn. The log
            beside the file cannot shrink until it is closed. In a folder where this
            process cannot write, a store that nobody has open is read as it stands; if
            another process then writes it, the next question is an OSError.

        Returns
        -------
        KeyedStream

        Raises
        ------
        CheckpointError
            If the file is no store.
        NotReadyError
            If it holds no model yet.
        ValueError
            If it is opened to write, and another process does.
        OSError
            If the file cannot be read; also if its folder cannot be written, and a
            process that was killed has left commits in the log beside it.
        RuntimeError
            If the file was open when this process was forked.

        Examples
        --------
        >>> import tempfile, dyntree
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = f"{folder}/fleet.db"
        ...     with dyntree.KeyedStream(key="shop", store=path, seed=1) as fleet:
        ...         fleet = fleet.update([{"shop": "a", "x": 0.5}], [1.0])
        ...     with dyntree.KeyedStream.from_store(path, read_only=True) as fleet:
        ...         print(fleet, fleet.key)
        <KeyedStream 'linear': 1 keys, 1 rows learned> shop
        """
        params.flag("read_only", read_only)
        check_readable(store)  # no new file is made
        file = KeyFile(store, read_only)
        try:
            stored = file.fact("model")
            if stored is None:
                raise NotReadyError(
                    f"{shown(file.path)} holds no model yet, as nothing was learned."
                )
            header, arrays = cls._read(stored)
            options = {name: header[name] for name in PLAIN}
            if options["key"] is not None:
                options["key"] = from_json(options["key"])
            model = cls(**options)
            model._file = file
            model._take_store(header, arrays)
        except BaseException:
            file.close()
            raise
        return model

    def _open_store(self, path: str | os.PathLike[str]) -> None:
        """Keep keys in a file, and go on with what it holds."""
        self._file = KeyFile(path)
        try:
            stored = self._file.fact("model")
            if stored is None:
                self._cold = self._file
                self._begin(self.state.options)
                return
            header, arrays = self._read(stored)
            self._check_same(header, f"the store {self._file.path}")
            self._take_store(header, arrays)
        except BaseException:
            self._file.close()
            raise

    def _take_store(self, header: Header, arrays: Arrays) -> None:
        """Go on with the model whose header and arrays the store has."""
        assert self._file is not None
        streams, more = self._read(self._file.fact("streams") or b"")
        streams.pop("notes")
        self._cold, self.notes = self._file, header["notes"]
        self._take_state(header | {"streams": streams}, arrays | more)
        self._saved_rows = self._shared.n_rows

    @staticmethod
    def _read(blob: bytes) -> tuple[Header, Arrays]:
        """Header and arrays that a store holds, and notes as they were passed."""
        header, arrays = archive.read(BytesIO(blob))
        notes = header.pop("notes", {})
        return with_labels(header, from_json) | {"notes": notes}, arrays

    def _check_usable(self) -> None:
        """Refuse a model whose store was closed, or was open at a fork."""
        if self._file is not None:
            self._file.check_usable()

    def _check_writable(self) -> None:
        """Refuse to change a model whose store was opened to read only."""
        self._check_usable()
        if self._file is not None and self._file.read_only:
            raise ArgumentError(
                "store",
                "must be open to write before a model can change",
                Message("one that is read only"),
                "Open it by KeyedStream.from_store(path), or change a copy().",
            )

    def _commit_if_due(self) -> None:
        """Commit, unless the user does."""
        if self.autocommit:
            self.commit()

    def _check_same(self, header: Header, place: str) -> None:
        """Refuse a store, or another model, of other options."""
        trees = header["trees"]
        wanted: dict[str, Any] = {name: getattr(self, name) for name in MUST_AGREE}
        if self.key is not None:
            wanted["key"] = to_json(plain_label(self.key))
        if not self._is_open:
            wanted["model"] = self.state.options.model
        stored = header | {"model": trees["model"]}
        for name in ("classes", "categories"):
            if (named := getattr(self.state.options, name)) is not None:
                wanted[name], stored[name] = named, trees[name]
        if self._seed_given:
            wanted["seed"] = self.seed
        for name, value in wanted.items():
            if with_lists(stored[name]) != with_lists(value):
                raise ArgumentError(
                    name,
                    "must be as in {place}, {stored!r}",
                    value,
                    "Name the same options, or another store.",
                    place=Message(place),
                    stored=stored[name],
                )

    @locked
    def commit(self, notes: Mapping[str, Any] | None = None) -> Self:
        """Have all that was learned on disk; `update` calls it at its end.

        Parameters
        ----------
        notes : dict, optional
            Values that JSON can represent, such as the position in the source of the
            rows. They are on disk together with what was learned, or neither is.
            `notes` is what JSON makes of them, such as a list for a tuple. By default
            the notes remain as they are.

        Returns
        -------
        KeyedStream
            The model itself.

        Raises
        ------
        OSError
            If the file cannot be written. The model is of no use then: make it again
            from the store, which is as it was after the last commit.
        """
        self._check_writable()
        notes = self.notes if notes is None else checked_notes(notes)
        with late_interrupts():
            self.notes = notes
            if self._file is None:
                return self
            self._keys.write()
            for name, described in (
                ("streams", stream_arrays), ("model", lambda _: self._without_keys()),
            ):  # fmt: skip
                if name == "streams" and self._saved_rows == self._shared.n_rows:
                    continue
                file = BytesIO()
                header, arrays = described(self._shared)
                written = with_labels(header, to_json) | {"notes": self.notes}
                archive.write(file, written, arrays)
                self._file.set_fact(name, file.getvalue())
            self._file.commit()
            self._saved_rows, self._n_uncommitted = self._shared.n_rows, 0
            if self._call is not None:
                self._begin_call()
        return self

    @locked
    def close(self) -> None:
        """Commit, unless `autocommit` is off, and let others have the store."""
        if self._file is not None:
            if not (self._file.read_only or self._file.is_closed):
                self._commit_if_due()
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None and error[0] is None:
            self.close()
        elif self._file is not None:
            self._file.close()

    @locked
    def check(self) -> Self:
        """Check the states of all keys in full, as `load` does with those of a file.

        Returns
        -------
        KeyedStream
            The model itself.

        Raises
        ------
        CheckpointError
            If one is damaged.
        """
        for text, blob in self._keys.blobs():
            self._check_key(text, blob)
        return self


def checked_notes(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Notes as a file gives them back: JSON has lists for tuples."""
    try:
        if not all(isinstance(name, str) for name in notes):
            raise TypeError("JSON has keys of text alone")
        stored: dict[str, Any] = archive.header_in(archive.header_text(dict(notes)))
        return stored
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            "notes", "must be a dict of values that JSON can represent", notes
        ) from error


def with_lists(value: Any) -> Any:
    """A value as JSON gives it back: lists for tuples."""
    if isinstance(value, list | tuple):
        return [with_lists(part) for part in value]
    if isinstance(value, Mapping):
        return {name: with_lists(part) for name, part in value.items()}
    return value
