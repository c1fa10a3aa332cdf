"""report.html and the files beside it."""
