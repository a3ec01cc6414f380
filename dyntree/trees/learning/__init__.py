"""First and later rows -> trees that have learned them."""
