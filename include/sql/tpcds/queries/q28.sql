SELECT *
FROM
  (SELECT avg(ss_list_price) B1_LP,
          count(ss_list_price) B1_CNT,
          count(DISTINCT ss_list_price) B1_CNTD
   FROM store_sales
   WHERE ss_quantity BETWEEN 0 AND 5
     AND (ss_list_price BETWEEN $price_1 AND $price_1+10
          OR ss_coupon_amt BETWEEN $coupon_1 AND $coupon_1+1000
          OR ss_wholesale_cost BETWEEN $cost_1 AND $cost_1+20)) B1,
  (SELECT avg(ss_list_price) B2_LP,
          count(ss_list_price) B2_CNT,
          count(DISTINCT ss_list_price) B2_CNTD
   FROM store_sales
   WHERE ss_quantity BETWEEN 6 AND 10
     AND (ss_list_price BETWEEN $price_2 AND $price_2+10
          OR ss_coupon_amt BETWEEN $coupon_2 AND $coupon_2+1000
          OR ss_wholesale_cost BETWEEN $cost_2 AND $cost_2+20)) B2,
  (SELECT avg(ss_list_price) B3_LP,
          count(ss_list_price) B3_CNT,
          count(DISTINCT ss_list_price) B3_CNTD
   FROM store_sales
   WHERE ss_quantity BETWEEN 11 AND 15
     AND (ss_list_price BETWEEN $price_3 AND $price_3+10
          OR ss_coupon_amt BETWEEN $coupon_3 AND $coupon_3+1000
          OR ss_wholesale_cost BETWEEN $cost_3 AND $cost_3+20)) B3,
  (SELECT avg(ss_list_price) B4_LP,
          count(ss_list_price) B4_CNT,
          count(DISTINCT ss_list_price) B4_CNTD
   FROM store_sales
   WHERE ss_quantity BETWEEN 16 AND 20
     AND (ss_list_price BETWEEN $price_4 AND $price_4+10
          OR ss_coupon_amt BETWEEN $coupon_4 AND $coupon_4+1000
          OR ss_wholesale_cost BETWEEN $cost_4 AND $cost_4+20)) B4,
  (SELECT avg(ss_list_price) B5_LP,
          count(ss_list_price) B5_CNT,
          count(DISTINCT ss_list_price) B5_CNTD
   FROM store_sales
   WHERE ss_quantity BETWEEN 21 AND 25
     AND (ss_list_price BETWEEN $price_5 AND $price_5+10
          OR ss_coupon_amt BETWEEN $coupon_5 AND $coupon_5+1000
          OR ss_wholesale_cost BETWEEN $cost_5 AND $cost_5+20)) B5,
  (SELECT avg(ss_list_price) B6_LP,
          count(ss_list_price) B6_CNT,
          count(DISTINCT ss_list_price) B6_CNTD
   FROM store_sales
   WHERE ss_quantity BETWEEN 26 AND 30
     AND (ss_list_price BETWEEN $price_6 AND $price_6+10
          OR ss_coupon_amt BETWEEN $coupon_6 AND $coupon_6+1000
          OR ss_wholesale_cost BETWEEN $cost_6 AND $cost_6+20)) B6
LIMIT 100
