ALTER TABLE $table OWNER TO $login
