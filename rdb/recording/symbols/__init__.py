"""Symbols and sources of the program, and the names that come from them."""
