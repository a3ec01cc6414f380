"""How work runs: one call at a time on a model, side by side, with a progress bar."""
