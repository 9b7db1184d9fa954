-- Every instance that has rows reads its part of the relations, into the file system's cache or into its own. A view has no
-- file there, nor has an external table.
SELECT sum(pg_prewarm(CAST(oid AS regclass), $cache)) AS pages
FROM $pg_class
WHERE oid IN ($relations) AND pg_relation_size(oid) > 0
