SELECT jsonraw FROM documents WHERE jkeynum = $key
