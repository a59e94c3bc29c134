"""What deciding trigger rules costs: as runs and mapped instances grow, and beside Airflow's own evaluation."""
