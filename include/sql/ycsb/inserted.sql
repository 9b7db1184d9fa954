SELECT count(*) FROM documents WHERE jkeynum > $rows
