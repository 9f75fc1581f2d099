"""Pictures of a whole job: a page for a browser, a trace for the Perfetto UI."""
