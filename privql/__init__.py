"""PrivQL: SQL with a privacy type system."""

__version__ = "0.1.0"
