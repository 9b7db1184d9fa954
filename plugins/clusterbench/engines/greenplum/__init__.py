"""Greenplum and its family."""
