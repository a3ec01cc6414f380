"""What trees are asked: predictions, criteria, sensitivity, and a view of each tree."""
