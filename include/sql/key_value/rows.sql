-- The document is the well-known JSON widget, as in the paper; the signature ties every row to the seed.
-- The same text runs on every engine and on DuckDB, which checks the answers.
SELECT '{"widget": {
    "debug": "on",
    "id": "' || id || '",
    "window": {
        "title": "Sample Konfabulator Widget",
        "name": "main_window",
        "width": 500,
        "height": 500
    },
    "image": {
        "src": "Images/Sun.png",
        "name": "sun1",
        "hOffset": 250,
        "vOffset": 250,
        "alignment": "center"
    },
    "text": {"data": "Click Here", "size": 36, "style": "bold"},
    "signature": "' || md5($seed || ':' || id) || '"
}}' AS jsonraw, id AS jkeynum, CAST(id AS varchar) AS jkey
FROM $ids AS ids(id)
