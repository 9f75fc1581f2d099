"""One log: its records, its index, descriptions of its calls."""
