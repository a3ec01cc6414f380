"""A hundred faces as a bounded model has them: each pixel in the mean of its topic.

``python -m tests.bench.faces`` learns the faces that scikit-image ships (a subset of
Labeled Faces in the Wild, 25 x 25 pixels) and stores in `faces.json` what the model
makes of some of them: not the photographs, but one grey for each topic.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dyntree.mixtures import MemoryBoundedHDP

from .hdp_images import learned
from .hdp_scenes import faces
from .results import stamp

STORED = Path(__file__).with_suffix(".json")
N_FACES, N_SHOWN, SIDE = 100, 8, 25
ITEMS, SHOWN_ITEMS = (50, 100, 400), 100


def greys(model: MemoryBoundedHDP, documents: Any) -> list[list[int]]:
    """Mean grey of the topic of each pixel, 0 to 100, by documents."""
    grey = model.means_[:, 0]
    return [
        [round(float(one)) for one in grey[labels]]
        for labels in model.predict(documents).labels
    ]


def explained(shown: list[list[int]], documents: Any) -> float:
    """Share of the variance of pixels that the greys have."""
    found, true = np.array(shown, float), np.stack([one[:, 0] for one in documents])
    return float(
        1.0 - np.square(true - found).sum() / np.square(true - true.mean()).sum()
    )


def main() -> None:
    documents, out = faces(N_FACES), []
    for items in ITEMS:
        model, _ = learned(documents, min_gain=200, max_items=items)
        every = greys(model, documents)
        out.append({
            "items": items, "topics": model.n_topics_,
            "bytes": model.memory_used_, "of": sum(one.nbytes for one in documents),
            "explained": round(explained(every, documents), 4),
            "shown": every[:N_SHOWN] if items == SHOWN_ITEMS else [],
            "stamp": stamp(),
        })  # fmt: skip
        print({k: v for k, v in out[-1].items() if k not in ("shown", "stamp")})
    STORED.write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main()
