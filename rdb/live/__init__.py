"""Restarts: from which image, up to which event, and the branch that follows."""
