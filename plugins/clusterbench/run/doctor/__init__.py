"""``clusterbench doctor``: all that a first run would trip over, looked for in a minute and on all hosts at once.

It changes nothing: what it writes is in work folders, one object in the archive, and goes again where it can.
"""
