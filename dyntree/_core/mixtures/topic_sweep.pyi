from typing import Any

def n_lanes(n_items: int) -> int: ...
def tile_rows(K: int, F: int, block: int) -> int: ...
def sweep_items(
    store: dict[str, Any],
    topics: dict[str, Any],
    out: dict[str, Any],
    clumps: bool,
    block: int,
    n_threads: int,
) -> float: ...
