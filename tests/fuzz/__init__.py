"""Fuzzing the readers of logs and images: `make fuzz`, and for some seconds in the tests."""
