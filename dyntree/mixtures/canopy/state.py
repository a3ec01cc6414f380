"""What a large mixture has learned, as one record that is swapped whole."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix
from dyntree.mixtures.canopy.components import Components, Moments
from dyntree.mixtures.canopy.records import history_of
from dyntree.mixtures.canopy.scaling import Scaling
from dyntree.mixtures.shared.rows import no_rows


@dataclass(frozen=True, eq=False)
class State:
    """Columns, components, and rows that wait; learning makes a new record."""

    features: FeatureMap | None = None
    scaling: Scaling | None = None  # of the columns, fixed by the first batch or fit
    components: Components | None = None  # scaled
    moments: Moments | None = None  # of the rows learned, which batches are added to
    waiting: Matrix = field(default_factory=no_rows)  # which do not make a batch yet
    n_learned: int = 0
    n_batches: int = 0
    labels: NDArray[np.int32] = field(  # of the rows of the last fit or batch
        default_factory=lambda: np.empty(0, dtype=np.int32)
    )
    history: np.recarray[Any, Any] = field(default_factory=lambda: history_of([]))
    converged: bool = False

    @property
    def n_seen(self) -> int:
        """Rows that have come."""
        return self.n_learned + len(self.waiting)

    @property
    def nbytes(self) -> int:
        """Bytes of components, their sums, labels, and rows that wait."""
        n_bytes = self.waiting.nbytes + self.labels.nbytes
        for record in (self.components, self.moments):
            if record is not None:
                n_bytes += sum(array.nbytes for array in vars(record).values())
        return int(n_bytes)

    def independent(self) -> State:
        """Return the same with copies of what users can write to."""
        return replace(self, labels=self.labels.copy(), history=self.history.copy())
