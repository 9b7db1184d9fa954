-- Extensions that could be made here, whether they are or not.
SELECT name FROM pg_available_extensions
