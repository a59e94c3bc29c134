"""selectq: which task instances may start now, settled in SQL that can be reviewed as plain files."""
