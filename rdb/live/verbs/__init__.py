"""Verbs at a cut: queues, devices, and the requests that a restart posts again."""
