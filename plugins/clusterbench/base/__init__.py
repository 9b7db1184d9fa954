"""Words that all speak: errors, paths, connections, records, levels, readings, SQL, object storage."""
