"""Spark as an engine: for what one machine cannot hold."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from privql.engines.interface import OwnerLog, Stored, Tables

if TYPE_CHECKING:
    from privql.engines.spark.engine import SparkEngine

warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)  # it is given no frames


def open(  # the name that every engine's module has for it
    address: object, tables: Tables, owner_log: OwnerLog
) -> SparkEngine:
    """An engine over tables of a Spark Connect server, at its address `sc://…`, or of a session that Python gave."""
    from privql.engines.spark.engine import SparkEngine
    from privql.engines.spark.session import opened

    session, leave = opened(address)
    return SparkEngine(session, tables, owner_log=owner_log, leave=leave)


def of_values(
    address: object,
    stored: Stored,
    owner_log: OwnerLog,
) -> SparkEngine:
    """An engine for which these are the tables, for the conformance kit: views of its session, which ends with it."""
    from privql.engines.spark.given import view_of_rows

    places = {table: (f"held_{at}",) for at, table in enumerate(stored)}
    engine = open(address, places, owner_log)
    for table, (columns, rows) in stored.items():
        view_of_rows(engine.session, *places[table], columns, rows)
    return engine
