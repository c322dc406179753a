"""The error that ends a command with one line."""


class Failure(Exception):
    """Says what is wrong and what would be right."""
