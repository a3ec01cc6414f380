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


def kind_of(settings: HDPSettings) -> type[Family]:
    """What all families have in common that the first documents choose from."""
    return FAMILIES[settings.families[0]]


def scaled_family(
    name: str, settings: HDPSettings, width: int, shift: Vector, scale: Vector
) -> Family:
    """A family for a model, its prior mean on the scale of the first epoch."""
    prior, m0 = settings.prior, np.zeros(len(shift))
    if len(shift):
        prior.with_width(name, width)
        if prior.mean is not None:
            m0 = (prior.mean - shift) / scale
    return family_of(name, width, prior, m0)
