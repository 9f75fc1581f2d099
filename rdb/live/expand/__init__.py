"""Expansion: all ranks of a job recorded with --record=order make their messages again,
together.
"""
