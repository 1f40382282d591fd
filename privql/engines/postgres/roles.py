"""A role for PrivQL alone: what to let a server's administrator run, once.

It may read the declared columns and nothing else. What PostgreSQL lets everybody do - make temporary tables, call
functions - it lets this role do, too, unless that is taken from everybody: the script says so, and leaves the choice.
"""

from __future__ import annotations

from collections.abc import Iterable

from privql.engines.postgres.session import TIME_LIMIT
from privql.engines.sql.expressions import name, text
from privql.frozen import frozen


@frozen
class Granted:
    """`inside`: schema and table, or a table of the schema `public`."""

    inside: tuple[str, ...]
    columns: tuple[str, ...]


def role_script(role: str, tables: Iterable[Granted], limit: int = TIME_LIMIT) -> str:
    who, granted = name(role), [(one.inside if len(one.inside) > 1 else ("public", *one.inside), one) for one in tables]
    schemas = dict.fromkeys(schema for (schema, *_), _ in granted)
    lines = [
        f"-- {role}: reads what the policy declares, and nothing else. Run it as an administrator, in the database.",
        "BEGIN;",
        f"CREATE ROLE {who} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS;",
        f"ALTER ROLE {who} SET default_transaction_read_only = on;",
        f"ALTER ROLE {who} SET statement_timeout = {text(f'{limit}s')};",
        f"ALTER ROLE {who} SET idle_in_transaction_session_timeout = '60s';",
        f"ALTER ROLE {who} SET search_path = pg_catalog;",
        f"DO $$ BEGIN EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), {text(role)}); END $$;",
        *(f"GRANT USAGE ON SCHEMA {name(schema)} TO {who};" for schema in schemas),
    ]
    for (schema, table), one in granted:
        listed = ", ".join(map(name, one.columns))
        lines.append(f"GRANT SELECT ({listed}) ON {name(schema)}.{name(table)} TO {who};")
    lines += [
        "COMMIT;",
        "-- Its password, asked for and not written down:",
        f"--   \\password {who}",
        "-- What everybody may do, it may. If nobody else relies on that, take it from everybody:",
        "--   REVOKE TEMPORARY ON DATABASE … FROM PUBLIC;",
        "--   REVOKE CREATE ON SCHEMA public FROM PUBLIC;    -- the default since PostgreSQL 15",
        *(f"--   REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA {name(schema)} FROM PUBLIC;" for schema in schemas),
    ]
    return "\n".join(lines) + "\n"
