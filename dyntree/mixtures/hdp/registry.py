"""Families of topics by their names."""

from __future__ import annotations

import numpy as np

from dyntree.encoding.values import Vector
from dyntree.mixtures.hdp.families import Family
from dyntree.mixtures.hdp.gaussian import DiagonalGaussian, FullGaussian
from dyntree.mixtures.hdp.multinomial import Multinomial
from dyntree.mixtures.hdp.options import HDPPrior, HDPSettings

FAMILIES: dict[str, type[FullGaussian | DiagonalGaussian | Multinomial]] = {
    "full": FullGaussian,
    "diag": DiagonalGaussian,
    "multinomial": Multinomial,
}


def family_of(name: str, width: int, prior: HDPPrior, m0: Vector) -> Family:
    """The family of that name for so many columns, or words."""
    return FAMILIES[name](width, prior, m0)


def scaled_family(
    settings: HDPSettings, width: int, shift: Vector, scale: Vector
) -> Family:
    """The family of a model, its prior mean on the scale of the first epoch."""
    prior, m0 = settings.prior, np.zeros(len(shift))
    if len(shift):
        prior.with_width(settings.family, width)
        if prior.mean is not None:
            m0 = (prior.mean - shift) / scale
    return family_of(settings.family, width, prior, m0)
