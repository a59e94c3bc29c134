"""What others make of the same backlog, measured beside selectq in the same run."""
