-- Every column of every row, for storage that pg_prewarm does not know.
SELECT max(hashtext(CAST(whole AS text))) AS ignored FROM $table AS whole
