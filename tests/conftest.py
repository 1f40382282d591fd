"""What this run leaves out for want of a server is said at its top."""

from tests.ledger.servers import available


def pytest_report_header() -> list[str]:
    wanted = "set PRIVQL_TEST_PG, or install `privql[engines]`"
    return [] if available() else [f"no PostgreSQL server: {wanted}; tests/ledger/test_postgres.py is left out"]
