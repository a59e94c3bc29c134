"""The database servers that the tests run on: which, where from, and databases on them."""
