"""Searches for the positions where an expression changes or turns true, by the server."""
