-- The columns of the paper, in its order.
jsonraw json,
jkeynum bigint,
jkey character varying
