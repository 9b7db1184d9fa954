SELECT * FROM $external
