SELECT jsonraw FROM documents WHERE jkeynum = $new_one
