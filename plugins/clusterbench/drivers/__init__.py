"""How load is put on and read: pgbench and its log, streams of psql, the search for a load."""
