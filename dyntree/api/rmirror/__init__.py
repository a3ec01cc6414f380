"""R's dynaTree in Python: the names, arguments, order and defaults of CRAN 1.2-17.

An R script can be read aloud in Python. With the same seed the numbers are R's, draw
for draw; ``rng=RStream(42)`` stands for ``set.seed(42)``. Labels and indices count
from 1, string options may be shortened to a unique prefix, and Python's reserved
words become ``lambda_`` and ``cls``.

As in R a function returns a new object with more fields and leaves its argument as it
was, while the cloud of particles behind the two is shared: `update`, `retire` and
`rejuvenate` change it, `copy` alone duplicates it. `deletecloud` frees it at once;
otherwise it goes with the last object that refers to it.

Random numbers come from an `RStream`. `dynaTree` and `dynaTrees` take ``seed=`` (a new
stream, which is ``result.rng``) or ``rng=`` (a stream that several models may
share, as they share R's one stream); later calls draw from the object's own stream
unless they are given another.

Like R, the mirror is for one thread at a time.
"""

from .changes import copy, deletecloud, deleteclouds, rejuvenate, retire, update
from .fit import dynaTree
from .learning import alc, alcalc, alcX, entropyX, ieci, qEI, qEntropy
from .plotting import plot, plotprogress
from .predict import classprobs, coef, intervals, predict, sameleaf
from .record import DynaTree
from .repeats import dynaTrees, getBF
from .sens import sens
from .stream import RStream
from .variables import relevance, treestats, varproptotal, varpropuse

__all__ = [
    "DynaTree",
    "RStream",
    "alc",
    "alcX",
    "alcalc",
    "classprobs",
    "coef",
    "copy",
    "deletecloud",
    "deleteclouds",
    "dynaTree",
    "dynaTrees",
    "entropyX",
    "getBF",
    "ieci",
    "intervals",
    "plot",
    "plotprogress",
    "predict",
    "qEI",
    "qEntropy",
    "rejuvenate",
    "relevance",
    "retire",
    "sameleaf",
    "sens",
    "treestats",
    "update",
    "varproptotal",
    "varpropuse",
]
