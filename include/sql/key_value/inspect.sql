-- One scan of the table. The checksum is a sum, so the order of rows, of slices and of segments does not matter.
SELECT count(*) AS row_count,
       min(jkeynum) AS key_min,
       max(jkeynum) AS key_max,
       sum(CASE WHEN jsonraw -> 'widget' ->> 'id' = CAST(jkeynum AS varchar) AND jkey = CAST(jkeynum AS varchar)
                THEN 0 ELSE 1 END) AS documents_with_wrong_key,
       sum(CAST(CAST(CAST('x' || substr(md5(jkeynum || '|' || jkey || '|' || CAST(jsonraw AS text)), 1, 15)
                          AS bit varying) AS bit(60)) AS bigint)) AS checksum
FROM $table
