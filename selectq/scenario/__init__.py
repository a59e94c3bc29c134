"""Scenarios: small worlds in YAML with the answer that selectq must give on them.

``format`` reads and checks a file, ``load`` puts it into tables, ``replay`` runs it and compares.
"""
