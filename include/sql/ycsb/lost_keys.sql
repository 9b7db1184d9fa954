-- Of the first ones only: all of them would take as long as the trial.
SELECT count(*) AS found, least($rows, 100000) AS expected
FROM documents
WHERE jkeynum <= least($rows, 100000)
HAVING count(*) <> least($rows, 100000)
