DROP VIEW plans_over_time;
ALTER TABLE results DROP plan_set;
DROP TABLE plan_sets, plans;
