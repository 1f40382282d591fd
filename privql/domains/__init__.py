"""Value types' domains: intervals, finite sets and grids, and how they combine."""

from privql.domains.domain import (
    NUMERIC,
    ORDERED,
    Domain,
    finite,
    grid_of,
    held,
    interval,
    number_text,
    shared_grid,
    union_of,
    value_text,
    whole,
)

__all__ = [
    "NUMERIC",
    "ORDERED",
    "Domain",
    "finite",
    "grid_of",
    "held",
    "interval",
    "number_text",
    "shared_grid",
    "union_of",
    "value_text",
    "whole",
]
