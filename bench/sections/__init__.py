"""What is measured, one file a section.  Each offers TITLE and measure(bench, section)."""
