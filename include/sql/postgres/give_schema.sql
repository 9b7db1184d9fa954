ALTER SCHEMA $schema OWNER TO $login
