"""The only room that imports Airflow: tasks, notifier, and the pages in its UI."""
