INSERT INTO documents SELECT $new_key, CAST($new_key AS varchar), jsonraw FROM documents WHERE jkeynum = 1
