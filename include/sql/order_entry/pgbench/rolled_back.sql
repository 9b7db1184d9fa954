-- Clause 2.4.1.4: the one New-Order in a hundred whose last item does not exist. A script of its own, so that the log
-- tells these from the others; what it draws and calls is new_order.sql's.
$drawn
\set item5 CASE WHEN :lines = 5 THEN 100001 ELSE :item5 END
\set item6 CASE WHEN :lines = 6 THEN 100001 ELSE :item6 END
\set item7 CASE WHEN :lines = 7 THEN 100001 ELSE :item7 END
\set item8 CASE WHEN :lines = 8 THEN 100001 ELSE :item8 END
\set item9 CASE WHEN :lines = 9 THEN 100001 ELSE :item9 END
\set item10 CASE WHEN :lines = 10 THEN 100001 ELSE :item10 END
\set item11 CASE WHEN :lines = 11 THEN 100001 ELSE :item11 END
\set item12 CASE WHEN :lines = 12 THEN 100001 ELSE :item12 END
\set item13 CASE WHEN :lines = 13 THEN 100001 ELSE :item13 END
\set item14 CASE WHEN :lines = 14 THEN 100001 ELSE :item14 END
\set item15 CASE WHEN :lines = 15 THEN 100001 ELSE :item15 END
BEGIN;
$call
ROLLBACK;
