-- Every instance that has rows reads its part of the relations, into the file system's cache or into its own.
SELECT sum(pg_prewarm(CAST(oid AS regclass), $cache)) AS pages FROM $pg_class WHERE oid IN ($relations)
