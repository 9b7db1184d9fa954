SELECT * FROM $table
