"""The files that runs left, as records in memory."""
