"""What is wrong with what the user asked for, in one message."""


class Fault(Exception):
    """Bad input: told in one line, exit code 2."""
