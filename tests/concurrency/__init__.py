"""Many schedulers at once: real processes on one database, what it recorded, and a checker that replays the record."""
