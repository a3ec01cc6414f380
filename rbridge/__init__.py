"""The bridge between dyntree and R; the R mirror itself is `dyntree.api.rmirror`."""
