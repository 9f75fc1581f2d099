"""Verbs at a cut: queues, devices, and what a restart posts again."""
