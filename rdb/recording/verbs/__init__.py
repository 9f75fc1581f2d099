"""What one process did in verbs, from its log alone."""
