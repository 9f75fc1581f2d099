"""Checkpoints that all ranks of a job take together, because the job has no log."""
