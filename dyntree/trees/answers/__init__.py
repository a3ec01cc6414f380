"""Functions behind the questions to trees: draws, predictions, criteria, shares."""
