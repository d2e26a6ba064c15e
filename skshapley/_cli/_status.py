"""How a command ends."""

OK, FAILED, USAGE = 0, 1, 2


class UsageError(Exception):
    """The command cannot be carried out as it was given."""
