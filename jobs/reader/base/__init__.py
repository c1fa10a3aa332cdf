"""What every part of the reader needs: texts, numbers, files."""
