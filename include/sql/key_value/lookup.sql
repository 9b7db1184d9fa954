-- "which is the SQL equivalence of the operation executed by key-values stores clients for data retrieval"
SELECT jsonraw FROM $table WHERE jkeynum = $key
