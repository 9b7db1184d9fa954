-- PartialScanSQL of the paper, as printed: "the average number of items bought by all customers in the year of 2010, sorted
-- by month". Its upper bound is the first instant of 31 December, so what was ordered on that day is left out, as there.
SELECT ROUND(AVG(ITEM_COUNT), 2) AS AVERAGE_ITEM_COUNT
FROM   (SELECT CUSTOMER_ID,
               TO_CHAR(ORDER_DATETIME, 'YYYY/MM') AS ORDER_MONTH,
               SUM(ITEM_QUANTITY)                 AS ITEM_COUNT
        FROM  $table
        WHERE  ORDER_DATETIME BETWEEN TIMESTAMP '2010-01-01' AND DATE '2010-12-31'
        GROUP  BY CUSTOMER_ID,
                  TO_CHAR(ORDER_DATETIME, 'YYYY/MM')
        ORDER  BY TO_CHAR(ORDER_DATETIME, 'YYYY/MM')) LINEITEMS
