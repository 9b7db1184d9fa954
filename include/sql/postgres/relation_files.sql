-- Files of relations and of their TOAST tables, on every instance that has rows.
SELECT $content AS content, pg_relation_filepath(oid) AS path, CAST(relfilenode AS bigint) AS filenode
FROM $pg_class
WHERE oid IN ($relations) OR oid IN (SELECT reltoastrelid FROM pg_class WHERE oid IN ($relations))
