"""Symbols and sources of the program, and names from them."""
