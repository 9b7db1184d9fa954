"""FullScanSQL: first and last electronic orders of every customer, from all partitions (paper 000)."""

from __future__ import annotations

from clusterbench.base.datasets import Partition
from clusterbench.workloads.retail import order_lineitems
from clusterbench.workloads.retail.scan import RetailScan


class FullScan(RetailScan):
    """All rows are read, few are kept: sequential reads, then sorting and aggregating in memory."""

    title = "FullScanSQL"
    statement = "full_scan"

    def partitions(self) -> list[Partition]:
        return list(order_lineitems.partitions())


WORKLOAD = FullScan()
