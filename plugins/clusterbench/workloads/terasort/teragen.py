"""The records of TeraGen, made without Hadoop, so that somebody else says what their checksum is. Pure.

Hadoop's generator is that of gensort: a 128-bit linear congruential generator, one step a row, gives the 10 bytes of
the key and the filler; a checksum is the sum of the records' CRC32.
"""

from __future__ import annotations

import zlib
from functools import lru_cache

ROW_BYTES = 100
COMPUTED_ROWS_MAX = 1_000_000
"""Five seconds; more are compared with earlier runs."""
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
INCREMENT = 0x4A696D47726179524950202020202001
MASK = (1 << 128) - 1


def record(number: int, row: int) -> bytes:
    """The ``row``-th record from its random ``number``: key, row number, filler, with fixed bytes between."""
    digits = b"%032X" % number
    filler = b"".join(digits[place : place + 1] * 4 for place in range(20, 32))
    return number.to_bytes(16)[:10] + b"\x00\x11" + b"%032X" % row + b"\x88\x99\xaa\xbb" + filler + b"\xcc\xdd\xee\xff"


@lru_cache(maxsize=8)
def checksum(rows: int) -> str:
    """Of the first ``rows`` records, in hexadecimal, as TeraValidate prints it."""
    number = total = 0
    for row in range(rows):
        number = (number * MULTIPLIER + INCREMENT) & MASK
        total += zlib.crc32(record(number, row))
    return f"{total:x}"
