"""Texts of objects that are the same in every process."""

import re

# Where an object is, in a repr: "<function f at 0x7f3c>", "<Model 0x7f3c>", "Model(0x7f3c)"
ADDRESS = re.compile(r"(?<=\S)( at)? 0x[0-9a-fA-F]{4,}|(?<=[(<=])0x[0-9a-fA-F]{4,}")


def unaddressed(text: str) -> str:
    """Return a text without the addresses of objects in this process."""
    return ADDRESS.sub("", text)
