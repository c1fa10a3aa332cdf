"""Tables of figures for people and programs."""
