"""The results inside the Airflow UI: pages made of the history database and the archive. No Airflow in here."""
