-- The same sum by an independent engine over the same rows, made anew and never stored.
SELECT sum(CAST('0x' || substr(md5(jkeynum || '|' || jkey || '|' || jsonraw), 1, 15) AS BIGINT)) AS checksum
FROM ($rows) AS generated
