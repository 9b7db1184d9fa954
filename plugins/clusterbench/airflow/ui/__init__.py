"""The results inside the Airflow UI: pages made of the history database and the archive. ``plugin`` joins the two."""
