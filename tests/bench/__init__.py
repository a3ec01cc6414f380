"""What the package costs, against a peer measured in the same minutes."""
