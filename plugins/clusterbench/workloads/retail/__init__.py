"""Retail analytics: scans and loads of order line items (paper 000)."""
