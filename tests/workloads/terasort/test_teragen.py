"""The records of TeraGen, made without Hadoop."""

from __future__ import annotations

import itertools
import zlib

import pytest

from clusterbench.workloads.terasort import teragen


@pytest.mark.parametrize(("number", "row"), [(0, 0), (teragen.INCREMENT, 0), (teragen.MASK, 10**12 - 1), (1, 2**64)])
def test_record_is_of_a_hundred_bytes(number: int, row: int) -> None:
    assert len(teragen.record(number, row)) == teragen.ROW_BYTES == 100


def test_key_is_the_first_ten_bytes_of_the_random_number() -> None:
    number = 0x00FF0102030405060708AABBCCDDEEFF
    assert teragen.record(number, 7)[:10] == bytes.fromhex("00ff0102030405060708")


def test_first_record_is_the_one_that_gensort_begins_with() -> None:
    """Its first random number was chosen to read so."""
    assert teragen.record(teragen.INCREMENT, 0)[:10] == b"JimGrayRIP"
    assert teragen.checksum(1) == f"{zlib.crc32(teragen.record(teragen.INCREMENT, 0)):x}"


def test_record_holds_its_row_number_in_hexadecimal_between_fixed_bytes() -> None:
    record = teragen.record(teragen.INCREMENT, 0xBEEF)
    assert record[10:12] == b"\x00\x11"
    assert record[12:44] == b"0000000000000000000000000000BEEF"
    assert (record[44:48], record[96:]) == (b"\x88\x99\xaa\xbb", b"\xcc\xdd\xee\xff")


def test_filler_is_each_of_the_last_digits_of_the_random_number_four_times() -> None:
    record = teragen.record(0x0123456789ABCDEF01230123456789AB, 0)
    assert record[48:96] == b"".join(
        digit * 4 for digit in (b"0", b"1", b"2", b"3", *(b"%d" % n for n in range(4, 10)), b"A", b"B")
    )


def test_checksum_of_a_hundred_thousand_rows_is_that_of_hadoop() -> None:
    assert teragen.checksum(100_000) == "c327a1c42c28"


def test_checksum_is_the_same_whenever_it_is_computed() -> None:
    compute = teragen.checksum.__wrapped__
    assert compute(1000) == compute(1000) == teragen.checksum(1000)


def test_every_row_adds_to_the_checksum() -> None:
    sums = [int(teragen.checksum(rows), 16) for rows in range(5)]
    assert sums[0] == 0
    added = [after - before for before, after in itertools.pairwise(sums)]
    assert len(set(added)) == 4 and all(0 < each < 2**32 for each in added)
