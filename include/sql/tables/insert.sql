INSERT INTO $table
$rows
