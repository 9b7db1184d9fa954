GRANT SELECT ON $external TO $login
