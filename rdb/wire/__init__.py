"""Authenticated messages between processes of rdb, on one host or several."""
