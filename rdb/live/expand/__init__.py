"""Recordings of the order: all ranks make their messages again, together."""
