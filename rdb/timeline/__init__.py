"""Motions along a recording: seek, reverse execution, bisect, last write."""
