SELECT has_database_privilege($login, current_database(), 'CONNECT')
   AND has_database_privilege($login, current_database(), 'CREATE')
   AND has_database_privilege($login, current_database(), 'TEMPORARY') AS is_let_in
