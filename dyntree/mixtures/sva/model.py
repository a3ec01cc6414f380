"""SmallVarianceMixture: what the streaming mixtures in closed form have in common."""

from __future__ import annotations

from typing import Any, Self

from dyntree import params
from dyntree.mixtures.shared.arrays import Arrays
from dyntree.mixtures.sva.answers import ClusterAnswers
from dyntree.mixtures.sva.files import (
    check_arrays,
    from_arrays,
    to_arrays,
)
from dyntree.mixtures.sva.options import ClusterOptions
from dyntree.runtime.locking import locked


class SmallVarianceMixture(ClusterAnswers):
    """Clusters that open, merge and go as rows come; base of the three models.

    Notes
    -----
    Learning draws no random numbers; what is learned depends on the order of the rows.
    Answers are from *confirmed* clusters, which have had `min_weight` rows.
    """

    _options: type[ClusterOptions]

    @locked
    def merge_now(self) -> Self:
        """Merge what should be merged, without waiting for the next look.

        Returns
        -------
        self
        """
        self._ready("merge_now").merge()
        return self

    @locked
    def remove(self, id: int) -> Self:
        """Delete a cluster; rows that it had are forgotten with it.

        Parameters
        ----------
        id : int
            As in `clusters`, confirmed or not.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no such cluster.
        """
        known = self._ready("remove")
        ids = known.array("ids").tolist()
        number = params.count("id", id, 0)
        if number not in ids:
            became = self.aliases_.get(number)
            told = "" if became is None else f"; it has been merged into {became}"
            raise ValueError(
                f"id must be that of an existing cluster; got {id!r}{told}."
            )
        known.remove(ids.index(number))
        return self

    # ------------------------------------------------------------ copies and files
    @locked
    def copy(self) -> Self:
        """Return an independent copy, which continues in the same way."""
        again = type(self)._from_checked(*self.to_arrays())
        again._labels = self.labels_
        return again

    def _to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        return to_arrays(self.options, self.seed, self._state)

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        options = cls._options(**header["options"])
        check_arrays(options, header, arrays)
        return cls._from_checked(header, arrays)

    @classmethod
    def _from_checked(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        """Build a model from a header and arrays that have been checked."""
        model = cls.__new__(cls)
        model._begin(cls._options(**header["options"]), header["seed"])
        model._state = from_arrays(model.options, header, arrays)
        return model
