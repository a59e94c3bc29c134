"""The documentation, taken at its word: every command and every Python block runs, every link leads somewhere."""
