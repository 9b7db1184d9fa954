-- What a query answers in its first column, as texts, with the type that it has there.
SELECT CAST(answered.value AS text) AS value, CAST(pg_typeof(answered.value) AS text) AS type
FROM ($query) AS answered(value)
WHERE answered.value IS NOT NULL
