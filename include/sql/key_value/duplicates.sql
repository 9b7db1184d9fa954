-- Answered from the index alone, in key order, so it sorts nothing.
SELECT count(*) AS duplicate_keys
FROM (SELECT jkeynum FROM $table GROUP BY jkeynum HAVING count(*) > 1) AS repeated
