"""The compiled core of dynamic trees: nodes, leaves, moves, particles, queries."""
