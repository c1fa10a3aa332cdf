"""Charts of a report, by matplotlib."""
