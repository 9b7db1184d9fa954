"""Order-Entry: rows, transactions and conditions derived from TPC-C (TPC-C 5.11; paper 003)."""
