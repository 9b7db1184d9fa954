"""TPC-DS: schema, rows, queries, their parameters and answers (TPC-DS specification 3.2; paper 004, "Testing tool")."""
