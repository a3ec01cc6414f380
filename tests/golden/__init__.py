"""Recordings of CRAN dynaTree 1.2-17 and the harness that replays them."""
