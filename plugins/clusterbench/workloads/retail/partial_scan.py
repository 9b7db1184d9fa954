"""PartialScanSQL: the average number of items bought in 2010, from that year's partitions (paper 000)."""

from __future__ import annotations

from clusterbench.base.datasets import Partition
from clusterbench.workloads.retail import order_lineitems
from clusterbench.workloads.retail.scan import RetailScan


class PartialScan(RetailScan):
    """A fifth of the rows is read, and all of it grouped and sorted: reads, and writes of what memory does not hold."""

    title = "PartialScanSQL"
    statement = "partial_scan"
    spilled_bytes_per_row = 50
    """Customer, month and sum, with the header of a row: all of it, where no group fits into memory."""

    def partitions(self) -> list[Partition]:
        return order_lineitems.partitions_of_last_year()


WORKLOAD = PartialScan()
