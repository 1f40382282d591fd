"""A release as the bytes that a ledger keeps and replays: JSON, every value exact."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privql.check.relations import Label
from privql.domains import Domain
from privql.finish import kept
from privql.finish.recipe import Law
from privql.finish.table import type_from_json, type_to_json, value_from_json, value_to_json
from privql.kernel.cost import Cost
from privql.kernel.scalars import ValueType

if TYPE_CHECKING:
    from privql.finish.result import Column, Release

_FORM = 2  # 1 had nothing of how it was made


def written(release: Release) -> bytes:
    answer = {
        "form": _FORM,
        "columns": [_column_to_json(column) for column in release.columns],
        "rows": [[value_to_json(value) for value in row] for row in release.rows],
        "cost": [str(release.cost.epsilon), str(release.cost.delta)],
        "release_id": release.release_id,
        "certificate": dict(release.certificate),
        "dummy": release.dummy,
        "made": None if release.made is None else kept.written(release.made),
    }
    return json.dumps(answer, separators=(",", ":"), allow_nan=False).encode("ascii")


def read(stored: bytes) -> Release:
    from privql.finish.result import Release

    answer = json.loads(stored)
    if answer["form"] not in (1, _FORM):
        raise ValueError("this answer was written by another version")
    columns = tuple(map(_column_from_json, answer["columns"]))
    types = [column.type for column in columns]
    return Release(
        columns,
        tuple(tuple(map(value_from_json, row, types)) for row in answer["rows"]),
        Cost(*map(Fraction, answer["cost"])),
        answer["release_id"],
        answer["certificate"],
        answer["dummy"],
        kept.read(answer["made"]) if answer.get("made") else None,
    )


def _column_to_json(column: Column) -> dict[str, Any]:
    law = column.law
    return {
        "name": column.name,
        "type": type_to_json(column.type),
        "domain": _domain_to_json(column.domain),
        "label": column.label.name,
        "law": None if law is None else [law.kind, str(law.grid), str(law.scale), law.low, law.high, law.noise],
        "cells": column.cells,
    }


def _column_from_json(stored: dict[str, Any]) -> Column:
    from privql.finish.result import Column

    type = type_from_json(stored["type"])
    law = None
    if stored["law"] is not None:
        kind, grid, scale, low, high, *noise = stored["law"]  # of the first form it is Laplace
        law = Law(kind, Fraction(grid), Fraction(scale), low, high, *noise)
    cells = tuple(None if pair is None else (pair[0], pair[1]) for pair in stored["cells"])
    return Column(stored["name"], type, _domain_from_json(stored["domain"], type), Label[stored["label"]], law, cells)


def _domain_to_json(domain: Domain) -> dict[str, Any]:
    return {
        "low": _ratio(domain.low),
        "high": _ratio(domain.high),
        "values": None if domain.values is None else [value_to_json(value) for value in domain.values],
        "nullable": domain.nullable,
        "grid": _ratio(domain.grid),
    }


def _domain_from_json(stored: dict[str, Any], type: ValueType) -> Domain:
    low, high, grid = (None if stored[part] is None else Fraction(stored[part]) for part in ("low", "high", "grid"))
    values = stored["values"]
    listed = None if values is None else tuple(value_from_json(value, type) for value in values)
    return Domain(low, high, listed, stored["nullable"], grid)


def _ratio(value: Fraction | None) -> str | None:
    return None if value is None else str(value)
