-- Every instance that has rows reads its part of the relations, into the file system's cache or into its own. A view has no
-- file there, nor has an external table. Greenplum 7 would take a sum of the pages on the coordinator, and read there, where
-- no row is: so nothing is summed, and each row says which instance read.
SELECT $content AS content, pg_prewarm(CAST(oid AS regclass), $cache) AS pages
FROM $pg_class
WHERE oid IN ($relations) AND pg_relation_size(oid) > 0
