"""Checkpoints of a job that all its ranks take together, because it has no log."""
