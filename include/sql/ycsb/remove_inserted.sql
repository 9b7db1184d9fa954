DELETE FROM documents WHERE jkeynum > $rows
