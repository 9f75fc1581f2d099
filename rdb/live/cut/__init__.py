"""A consistent cut of a job, and what asks for one."""
