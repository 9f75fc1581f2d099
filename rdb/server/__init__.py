"""GDB remote protocol server of one rank: a face over a timeline, with reverse execution."""
