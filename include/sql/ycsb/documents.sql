-- As the rows of the key-value study; they run on DuckDB, too, which checks them.
SELECT id, CAST(id AS varchar), '{"widget": {
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
}}'
FROM $ids AS ids(id)
