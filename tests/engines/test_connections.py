"""Where connections lead is said by an owner-only file, the environment or a service, and shown without passwords."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from privql.engines.connections import ConnectionProblem, Connections, has_secret, scheme, shown
from privql.engines.opening import kind_of, open_engine

CLINIC = "postgresql://olga:s3cret@db.example.org/clinic"


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture(autouse=True)
def _nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("PRIVQL_CONNECTION", "PGS")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "none"))


def test_the_first_that_has_the_name_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "services.conf", "[clinic]\nhost=here\n[old clinic]\nhost=there\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services.conf"))
    beside = Connections(folder=str(tmp_path))
    assert beside.find("clinic") == "postgresql:///?service=clinic"
    assert beside.find("old clinic") == "postgresql:///?service=old%20clinic"
    monkeypatch.setenv("PRIVQL_CONNECTION_CLINIC", "postgresql://environment/")
    assert beside.find("Clinic") == "postgresql://environment/"
    written(tmp_path / "connections.toml", f'CLINIC = "{CLINIC}"\n')
    assert beside.find("clinic") == CLINIC
    written(tmp_path / "named.toml", 'clinic = "postgresql://named/"\n')
    monkeypatch.setenv("PRIVQL_CONNECTIONS", str(tmp_path / "named.toml"))
    assert beside.find("clinic") == "postgresql://named/"
    written(tmp_path / "given.toml", 'clinic = "postgresql://given/"\n')
    assert Connections(file=str(tmp_path / "given.toml")).find("clinic") == "postgresql://given/"
    session = object()
    assert Connections({"Clinic": session}, folder=str(tmp_path)).find("clinic") is session


def test_paths_start_from_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    text = 'a = "a.duckdb"\nb = "duckdb://sub/b.duckdb"\nc = "duckdb:///srv/c.duckdb"\nd = "../d.db"\n'
    found = Connections(file=str(written(tmp_path / "sub" / "c.toml", text)))
    wanted = {"a": tmp_path / "sub/a.duckdb", "b": tmp_path / "sub/sub/b.duckdb", "d": tmp_path / "d.db"}
    assert {name: found.find(name) for name in wanted} == {name: str(path) for name, path in wanted.items()}
    assert found.find("c") == "/srv/c.duckdb"


@pytest.mark.skipif(os.name != "posix", reason="files have no such modes here")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o644])
def test_a_file_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    path = written(tmp_path / "connections.toml", f'clinic = "{CLINIC}"\n', mode)
    with pytest.raises(ConnectionProblem, match="can be read by others") as raised:
        Connections(folder=str(tmp_path)).find("clinic")
    assert raised.value.help.startswith(f"`chmod 600 {path}`")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('clinic = "s3cret', "is not TOML"),
        ("clinic = 3\n", "`clinic` in"),
        ("[clinic]\npassword = 's3cret'\n", "is no address"),
        ('other = "postgresql://me:s3cret@h/"\n', "no connection is named `clinic`; there is `other`"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_without_what_it_holds(text: str, told: str, tmp_path: Path) -> None:
    written(tmp_path / "connections.toml", text)
    with pytest.raises(ConnectionProblem) as raised:
        Connections(folder=str(tmp_path)).find("clinic")
    assert told in str(raised.value)
    assert "s3cret" not in f"{raised.value} {raised.value.help} {raised.value!r}"


@pytest.mark.parametrize(
    "address",
    [
        CLINIC,
        "postgresql://olga:s3/cr@et:s3cret@db.example.org/clinic?sslmode=require",
        "postgresql://db/clinic?user=olga&password=s3cret&sslmode=require",
        "sc://spark.example.org:15002/;token=s3cret;user_id=olga",
        "postgresql://db/clinic?options=x&PASSWORD = 's3cret and more'",
    ],
)
def test_no_password_is_shown(address: str) -> None:
    assert has_secret(address)
    assert "s3" not in shown(address) and "more" not in shown(address)
    assert shown(address).startswith(address[:12])


@pytest.mark.parametrize(
    "address", ["postgresql://olga@db.example.org/clinic", "sc://h:15002/;user_id=olga", "a.duckdb"]
)
def test_an_address_without_one_is_shown_as_it_is(address: str) -> None:
    assert shown(address) == address and not has_secret(address)


def test_an_address_says_which_engine_it_takes() -> None:
    assert [scheme(each) for each in ("SC://h", "a.duckdb", "duckdb:///a", "C:\\a.db", "postgresql:///?service=a")] == [
        "sc", "duckdb", "duckdb", "duckdb", "postgresql",
    ]  # fmt: skip
    assert kind_of(object()) == ""


@pytest.mark.parametrize("address", ["oracle://scott:tiger@h/", object()])
def test_an_address_that_nothing_reads_is_said_to_be_one(address: object) -> None:
    with pytest.raises(ConnectionProblem, match="nothing here reads") as raised:
        open_engine(address, {}, lambda cause: None)
    assert "tiger" not in str(raised.value)


def test_another_package_may_bring_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        def load(self) -> object:
            return self

        def open(self, *given: object) -> object:
            return given

    asked: list[object] = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **by: asked.append(by) or [Point()])
    opened: object = open_engine("mine://h", {"t": ("a", "b")}, print)
    assert opened == ("mine://h", {"t": ("a", "b")}, print)
    assert asked == [{"group": "privql.engines", "name": "mine"}]
