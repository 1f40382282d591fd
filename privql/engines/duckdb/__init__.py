"""DuckDB, the embedded engine: locked down, exact, one SQL statement a question."""
