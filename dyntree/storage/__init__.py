"""Archives of JSON and arrays, and files that are replaced whole or not at all."""
