INSERT INTO $table (jsonraw, jkeynum, jkey)
SELECT CAST(jsonraw AS json), jkeynum, jkey FROM ($rows) AS generated
