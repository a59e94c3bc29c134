"""Decisions of the real Airflow against selectq's: ``make compare-airflow``."""
