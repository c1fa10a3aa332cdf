"""What every part of the reader stands on: numbers, texts, files. It knows nothing of runs."""
