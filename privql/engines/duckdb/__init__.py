"""DuckDB, the embedded engine: locked down, exact, one SQL statement a question."""

from privql.engines.duckdb.engine import DuckDBEngine as DuckDBEngine
