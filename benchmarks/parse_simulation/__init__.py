"""A day of a parse queue on a virtual clock: how old files and callbacks get under several policies."""
