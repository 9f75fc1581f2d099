"""A consistent cut of a job: the cut itself, and what it depends on."""
