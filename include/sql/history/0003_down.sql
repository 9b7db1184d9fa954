DROP VIEW withdrawn_results, withdrawals;
DROP TABLE remarks;
