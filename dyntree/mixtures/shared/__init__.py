"""What all mixtures have in common; it knows none of them."""
