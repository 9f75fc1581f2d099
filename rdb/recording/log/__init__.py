"""One log: its records, its index, its calls in words."""
