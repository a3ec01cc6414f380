"""Models by formula: ``import dyntree.formula.api as dtf``, as with statsmodels.

Examples
--------
>>> import dyntree.formula.api as dtf
>>> data = {"x": list(range(40)), "y": ["low"] * 20 + ["high"] * 20}
>>> fit = dtf.dynamic_tree("y ~ x", data, n_particles=100, seed=1).fit()
>>> fit.predict({"x": 35})
'high'
"""

from typing import TYPE_CHECKING

from dyntree.api.comparing import compare, cross_val
from dyntree.api.formula import DynamicTreeModel
from dyntree.api.multi_response import dynamic_tree
from dyntree.params.names import suggesting_module

load = DynamicTreeModel.load

__all__ = ["DynamicTreeModel", "compare", "cross_val", "dynamic_tree", "load"]
SAVING = "Results save themselves: fit.save(path)."
if not TYPE_CHECKING:  # which knows all names that there are
    __getattr__ = suggesting_module(__name__, __all__, {"save": SAVING, "dump": SAVING})
