"""The commands of the console, by chapter."""
