DELETE FROM $chunks WHERE table_name IN ($tables)
