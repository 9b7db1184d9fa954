-- What a query answers in its first columns, as texts, with the types that they have there.
SELECT $texts, $types
FROM ($query) AS answered($columns)
WHERE $present
