"""Several clouds of trees that answer as one model."""
