"""The demo: two backlogs, each worked off by the usual scheduler loop and by selectq, on the same data."""
