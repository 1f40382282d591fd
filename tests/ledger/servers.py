"""A PostgreSQL server for the tests: the one that PRIVQL_TEST_PG names, or one of the package pgserver; else none."""

from __future__ import annotations

import atexit
import os
import shutil
import warnings
from functools import cache
from importlib.util import find_spec
from tempfile import mkdtemp
from uuid import uuid4


def available() -> bool:
    """Known before any test is collected, so that what is left out can be said."""
    return find_spec("psycopg") is not None and (
        bool(os.environ.get("PRIVQL_TEST_PG")) or find_spec("pgserver") is not None
    )


@cache
def server() -> str:
    """The address of a database that databases can be made from."""
    named = os.environ.get("PRIVQL_TEST_PG")
    if named:
        return named
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the system names no folder for what runs, it says so
        import pgserver

    folder = mkdtemp()
    running = pgserver.get_server(folder, cleanup_mode="stop")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(running.cleanup)
    return str(running.get_uri())


def fresh() -> str:
    """The address of a database of its own."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    name = f"privql_{uuid4().hex}"
    with psycopg.connect(server(), autocommit=True) as made:
        made.execute(f'CREATE DATABASE "{name}"')
    parts = conninfo_to_dict(server())
    user, host, port = parts.get("user", "postgres"), str(parts["host"]), parts.get("port", 5432)
    if host.startswith("/"):
        return f"postgresql://{user}@/{name}?host={host}&port={port}"
    return f"postgresql://{user}@{host}:{port}/{name}"
