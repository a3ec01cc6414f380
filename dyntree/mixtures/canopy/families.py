"""Families by name; each says what a component is, from sums to log densities."""

from __future__ import annotations

from dyntree.mixtures.canopy.components import Family
from dyntree.mixtures.canopy.counts import Multinomial, Poisson
from dyntree.mixtures.canopy.gaussians import Diagonal, Full, Spherical, SphericalTied

FAMILY_OF: dict[str, Family] = {
    family.name: family
    for family in (
        Spherical(), SphericalTied(), Diagonal(), Full(), Poisson(), Multinomial()
    )
}  # fmt: skip
