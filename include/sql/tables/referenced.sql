LEFT JOIN (SELECT $key AS $found FROM $table) AS of_$found ON $column = $found
