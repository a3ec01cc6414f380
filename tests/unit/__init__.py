"""One test file for each source file."""
