"""Queries over events."""
