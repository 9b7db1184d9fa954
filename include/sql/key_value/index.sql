CREATE INDEX $index ON $table (jkeynum)
