SELECT jkeynum, jsonraw FROM documents WHERE jkeynum >= $key ORDER BY jkeynum LIMIT $length
