SELECT distinct(i_product_name)
FROM item i1
WHERE i_manufact_id BETWEEN $manufact AND $manufact+40
  AND
    (SELECT count(*) AS item_cnt
     FROM item
     WHERE (i_manufact = i1.i_manufact
            AND ((i_category = 'Women'
                  AND (i_color = $color_1
                       OR i_color = $color_2)
                  AND (i_units = $unit_1
                       OR i_units = $unit_2)
                  AND (i_size = $size_1
                       OR i_size = $size_2))
                 OR (i_category = 'Women'
                     AND (i_color = $color_3
                          OR i_color = $color_4)
                     AND (i_units = $unit_3
                          OR i_units = $unit_4)
                     AND (i_size = $size_3
                          OR i_size = $size_4))
                 OR (i_category = 'Men'
                     AND (i_color = $color_5
                          OR i_color = $color_6)
                     AND (i_units = $unit_5
                          OR i_units = $unit_6)
                     AND (i_size = $size_5
                          OR i_size = $size_6))
                 OR (i_category = 'Men'
                     AND (i_color = $color_7
                          OR i_color = $color_8)
                     AND (i_units = $unit_7
                          OR i_units = $unit_8)
                     AND (i_size = $size_1
                          OR i_size = $size_2))))
       OR (i_manufact = i1.i_manufact
           AND ((i_category = 'Women'
                 AND (i_color = $color_9
                      OR i_color = $color_10)
                 AND (i_units = $unit_9
                      OR i_units = $unit_10)
                 AND (i_size = $size_1
                      OR i_size = $size_2))
                OR (i_category = 'Women'
                    AND (i_color = $color_11
                         OR i_color = $color_12)
                    AND (i_units = $unit_11
                         OR i_units = $unit_12)
                    AND (i_size = $size_3
                         OR i_size = $size_4))
                OR (i_category = 'Men'
                    AND (i_color = $color_13
                         OR i_color = $color_14)
                    AND (i_units = $unit_13
                         OR i_units = $unit_14)
                    AND (i_size = $size_5
                         OR i_size = $size_6))
                OR (i_category = 'Men'
                    AND (i_color = $color_15
                         OR i_color = $color_16)
                    AND (i_units = $unit_15
                         OR i_units = $unit_16)
                    AND (i_size = $size_1
                         OR i_size = $size_2))))) > 0
ORDER BY i_product_name
LIMIT 100
