"""Dynamic trees: models that learn row by row, and all that can be asked of them."""
