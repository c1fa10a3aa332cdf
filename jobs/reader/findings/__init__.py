"""Sentences about a study, each with a code and its figures."""
