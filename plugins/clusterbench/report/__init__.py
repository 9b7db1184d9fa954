"""One self-contained HTML page per run, made from its archive alone: no script, no font, no picture from elsewhere."""

from clusterbench.report.page import render_report

__all__ = ["render_report"]
