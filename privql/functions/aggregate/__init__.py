"""Aggregates: one file each."""
