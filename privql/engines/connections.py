"""Where a policy's connections lead: `FROM clinic.public.patients` names one, and its address stands elsewhere.

A policy is kept for ever and read by many, an address may hold a password: so it stands in a file that its owner alone
may read, in the environment, or in a PostgreSQL service. Here an address is never shown with its password.

    clinic = "postgresql://olga@db.example.org/clinic"
    lake = "sc://spark.example.org:15002"
    warehouse = "data/warehouse.duckdb"
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from urllib.parse import quote

from privql.frozen import frozen
from privql.names import fold

FILE = "connections.toml"
NAMED = "PRIVQL_CONNECTIONS"  # the path of that file
EACH = "PRIVQL_CONNECTION_"  # and before a name in capitals, one address

_SECRET = re.compile(r"(?i)(\b(?:password|passwd|pwd|token|secret|sslpassword)\s*=\s*)('[^']*'|[^&;\s]+)")
_USER = re.compile(r"(?<=://)([^/@:]*):.*(?=@)")


class ConnectionProblem(Exception):
    """One sentence for the owner, and what to do."""

    def __init__(self, told: str, help: str) -> None:
        self.help = help
        super().__init__(told)


@frozen
class Connections:
    """Looked for in this order: what Python gave, the file, the environment, the services of PostgreSQL.

    `file`: the one that was named; without one the environment's, else `connections.toml` in `folder`, the policy's.
    """

    given: Mapping[str, object] = field(default_factory=dict)
    file: str | None = None
    folder: str = ""

    def find(self, name: str) -> object:
        """An address, or what Python gave for it: a session of Spark, say."""
        known: dict[str, str] = {}
        for spelled, address in self.given.items():
            if fold(spelled) == fold(name):
                return _from(Path(self.folder), address) if isinstance(address, str) else address
            known[fold(spelled)] = spelled
        path = self._path()
        if path is not None:
            for spelled, address in _read(path).items():
                if fold(spelled) == fold(name):
                    return _from(path.parent, address)
                known[fold(spelled)] = spelled
        address = os.environ.get(EACH + re.sub(r"\W", "_", name).upper())
        if address:
            return _from(Path(self.folder), address)
        if name in _services():
            return f"postgresql:///?service={quote(name)}"
        there = ", ".join(sorted(f"`{each}`" for each in known.values()))
        where = f"`{path}`" if path is not None else f"a file `{FILE}` beside the policy, which others cannot read"
        raise ConnectionProblem(
            f"no connection is named `{name}`" + (f"; there is {there}" if there else ""),
            f'write its address into {where}: {_key(name)} = "postgresql://…", "sc://…", or a DuckDB database\'s path',
        )

    def _path(self) -> Path | None:
        named = self.file or os.environ.get(NAMED)
        if named:
            return Path(named)
        beside = Path(self.folder) / FILE
        return beside if beside.is_file() else None


def shown(address: object) -> str:
    """An address without its password, or of what kind it is."""
    if not isinstance(address, str):
        return type(address).__name__
    return _SECRET.sub(r"\1…", _USER.sub(r"\1:…", address))


def has_secret(address: str) -> bool:
    return shown(address) != address


def scheme(address: str) -> str:
    """What comes before `://`; a path without is a DuckDB database's."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", address)
    return found[1].lower() if found else "duckdb"


def _from(folder: Path, address: str) -> str:
    """A path starts from the folder of the file that holds it."""
    if scheme(address) != "duckdb":
        return address
    return os.path.abspath(folder / address[len("duckdb://") if address.lower().startswith("duckdb://") else 0 :])


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'


def _read(path: Path) -> dict[str, str]:
    """A file that leads others to the data is one that others cannot read."""
    import tomllib

    try:
        with path.open("rb") as opened:
            found = os.fstat(opened.fileno())
            if os.name == "posix" and (found.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(found.st_mode) & 0o077):
                raise ConnectionProblem(
                    f"`{path}` can be read by others than you, or is not yours",
                    f"`chmod 600 {path}`: it holds addresses",
                )
            made = tomllib.loads(opened.read().decode("utf-8-sig"))
    except OSError as problem:
        reason = problem.strerror or "it cannot be opened"
        raise ConnectionProblem(f"the connections in `{path}` cannot be read: {reason}", "check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):  # whose words may quote a password
        raise ConnectionProblem(f"`{path}` is not TOML", 'write a line for each: name = "address"') from None
    return dict(_addresses(path, made.items()))


def _addresses(path: Path, found: Iterable[tuple[str, object]]) -> Iterable[tuple[str, str]]:
    for name, address in found:
        if not isinstance(address, str) or not address.strip():
            raise ConnectionProblem(f"`{name}` in `{path}` is no address", f'write {_key(name)} = "address", in quotes')
        yield name, address.strip()


def _services() -> list[str]:
    """The names in the service files of PostgreSQL, which it reads itself."""
    from configparser import ConfigParser, Error

    own = os.environ.get("PGSERVICEFILE") or os.path.expanduser("~/.pg_service.conf")
    shared = os.path.join(os.environ["PGSYSCONFDIR"], "pg_service.conf") if "PGSYSCONFDIR" in os.environ else ""
    names: list[str] = []
    for path in filter(None, (own, shared)):
        services = ConfigParser(strict=False, interpolation=None, delimiters=("=",), default_section="")
        try:
            services.read(path, encoding="utf-8")
        except (Error, OSError, UnicodeDecodeError):
            continue  # it is PostgreSQL that will say so
        names += services.sections()
    return names
