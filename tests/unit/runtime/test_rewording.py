"""Errors in the words of the caller."""

from __future__ import annotations

import pytest

from dyntree.errors import NotReadyError
from dyntree.runtime.rewording import reworded


def test_whole_words_are_replaced() -> None:
    with pytest.raises(ValueError, match=r"^w and sample_weights, w$"):  # noqa: SIM117
        with reworded("sample_weight", "w"):
            raise ValueError("sample_weight and sample_weights, sample_weight")
    with pytest.raises(ValueError, match=r"^got 'y \\ ~ x'\.$"):  # noqa: SIM117
        with reworded("'a'", r"'y \ ~ x'"):
            raise ValueError("got 'a'.")


def test_kinds_of_errors_stay_and_others_pass() -> None:
    with pytest.raises(NotReadyError, match="new"), reworded("old", "new"):
        raise NotReadyError("old")
    with pytest.raises(KeyError, match="old"), reworded("old", "new"):
        raise KeyError("old")
    with pytest.raises(ValueError), reworded("old", "new"):  # noqa: PT011
        raise ValueError(3)
    with pytest.raises(ValueError), reworded("old", "new"):  # noqa: PT011
        raise ValueError
