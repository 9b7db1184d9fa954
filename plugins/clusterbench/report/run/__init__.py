"""The page of one run, made from its archive alone: no script, no font, no picture from elsewhere."""
