"""GDB remote protocol server of one rank, with reverse execution, on top of a timeline."""
