"""The models beside dynamic trees that R holds, each behind the same requests."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from dyntree import checkpoint
from dyntree.errors import in_words

from . import guest_mixtures, guest_trees
from .guest import RObject
from .guest_options import Face, plain_option
from .wire import RValue

FACES: dict[str, Face] = guest_trees.FACES | guest_mixtures.FACES
_TEACHES = ("make", "learn")


class RModel(RObject):
    """A model that R holds, of any kind in `FACES`.

    Requests have the names make, learn, and those of the answers of the kind of model.
    Each has face, the kind, and rows, R's name of the argument with the rows. A request
    to make has options, by R's names. All other elements are passed to the function of
    the kind. A request that fails leaves the model as it was.

    Attributes
    ----------
    model : object
        It is None before it is made.
    """

    def __init__(self) -> None:
        super().__init__()
        self.model: Any = None

    def _load(self, saved: bytes) -> None:
        self.model = checkpoint.loads(saved)

    def _copy(self) -> None:
        self.model = copy.deepcopy(self.model)

    def _perform(self, asked: dict[str, RValue]) -> dict[str, Any]:
        (name,), (rows,) = asked.pop(".name").data, asked.pop("rows").data
        face = FACES[asked.pop("face").data[0]]
        save, options = asked.pop(".save", None), asked.pop("options", None)
        try:
            with warnings.catch_warnings(record=True, action="always") as notes:
                given = {key: _given(face, value) for key, value in asked.items()}
                if name in _TEACHES:
                    self._part()
                    value = self._taught(face, options, given)
                else:
                    value = face.answers[name](self.model, **given)
        except Exception as error:
            text = in_words(error, face.words_for(rows))
            return {"error": text or type(error).__name__}
        answer: dict[str, Any] = {"value": value}
        if notes:
            words = face.words_for(rows)
            answer["warnings"] = [in_words(note.message, words) for note in notes]
        if save is not None:
            data = checkpoint.dumps(self.model)
            answer["saved"] = RValue("raw", np.frombuffer(data, dtype=np.uint8))
        return answer

    def _taught(
        self, face: Face, options: RValue | None, given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Let the model, new where there are options, learn rows; returns its facts."""
        is_first = options is not None
        model = self.model
        if options is not None:
            model = face.make(face.read(options.items()))
        model, more = face.learn(model, is_first, **given)
        answer = face.tell(model) | more
        self.model = model
        return answer


def _given(face: Face, value: RValue) -> Any:
    """Rows, and what comes with them."""
    if "data.frame" in value.strings("class"):
        return face.rows(value)
    return plain_option("", value)
