table_name text NOT NULL, chunk integer NOT NULL, row_count bigint NOT NULL, checksum numeric NOT NULL, PRIMARY KEY (table_name, chunk)
