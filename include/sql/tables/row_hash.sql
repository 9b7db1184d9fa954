CAST(CAST(CAST('x' || substr(md5($row_text), 1, 15) AS bit varying) AS bit(60)) AS bigint)
