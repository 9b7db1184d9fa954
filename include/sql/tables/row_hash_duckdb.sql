CAST('0x' || substr(md5($row_text), 1, 15) AS BIGINT)
