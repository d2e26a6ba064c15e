"""Tools for all rooms: seeds, the resolver of parameters, progress."""
