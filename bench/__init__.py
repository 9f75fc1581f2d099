"""Benchmarks: what recording costs and how long going back takes, measured on this machine.

`make bench` runs them all; see bench/run.py.
"""
