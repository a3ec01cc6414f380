"""Topic models in bounded memory beside their targets and their peers.

    python -m tests.bench.hdp [SECTION ...]

Sections: images (Figure 1), stream (Figure 3), rules (batch against stream), faces,
digits (Figures 5 and 6), text, bars, peers. All by default, in about twelve
minutes of one core; hdp.txt holds what was printed last. Seconds are of the
processor; F is per point, in nats and standardised units unless said otherwise.
"""

from __future__ import annotations

import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is loaded

from tests.bench import hdp_images, hdp_peers, hdp_text  # noqa: E402

SECTIONS = {
    "images": hdp_images.ratios,
    "stream": hdp_images.long_stream,
    "rules": hdp_images.batch_against_stream,
    "faces": hdp_images.faces_by_memory,
    "digits": hdp_images.retrieval,
    "text": hdp_text.news_items,
    "bars": hdp_text.bars_found,
    "peers": hdp_peers.same_points,
}


def main() -> None:
    """Run the sections that are named, or all."""
    names = sys.argv[1:] or list(SECTIONS)
    for name in names:
        clock = time.process_time()
        SECTIONS[name]()
        print(f"[{name}: {time.process_time() - clock:.0f} CPU s]\n", flush=True)


if __name__ == "__main__":
    main()
