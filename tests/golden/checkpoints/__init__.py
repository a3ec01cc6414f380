"""A small saved model of each kind, and what it answered when it was saved."""
