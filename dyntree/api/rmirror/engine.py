"""The one door from the mirror to the engine.

Every other module of the mirror says ``engine.Cloud``, ``engine.query`` and so on and
never imports the core itself, so that a test can put another engine with the same
interface (``tests/oracle``) in its place.
"""

import dyntree._core.trees.criteria as criteria
import dyntree._core.trees.query as query
import dyntree._core.trees.sensitivity as sensitivity
from dyntree._core.rng import RSource
from dyntree._core.trees.cloud import Cloud

__all__ = ["Cloud", "RSource", "criteria", "query", "sensitivity"]
