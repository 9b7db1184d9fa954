-- The columns of the paper, in its order.
CREATE TABLE $table (
    jsonraw json,
    jkeynum bigint,
    jkey character varying
) $storage
