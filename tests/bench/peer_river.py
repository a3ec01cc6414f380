"""One piece of work by river; arguments and output are those of work.py.

WORK names the model; the rest is what `work.prequential` does: each row is predicted,
then learned.
"""

from __future__ import annotations

import sys
from pathlib import Path

from .task import Rows
from .work import spent


def main(work: str, *rest: str) -> None:
    from river import forest, tree

    models = {
        "adaptive random forest": lambda: forest.ARFRegressor(seed=1),
        "Hoeffding tree": lambda: tree.HoeffdingTreeRegressor(),
    }
    rows = Rows.read(Path(rest[-1]))
    inputs = [dict(enumerate(x)) for x in rows.X.tolist()]
    before = spent()
    model = models[work]()
    for x, y in zip(inputs, rows.y.tolist(), strict=True):
        model.predict_one(x)
        model.learn_one(x, y)
    print(before, spent(), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
