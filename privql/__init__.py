"""PrivQL: SQL with a privacy type system.

    session = privql.connect("ledger.db", analyst="alice")
    session.check("SELECT COUNT(*) FROM patients SPEND EPSILON 0.1")   # proved and priced; no row is read
    session.run("SELECT COUNT(*) FROM patients SPEND EPSILON 0.1")     # charged, measured, answered

Names are loaded when they are first used, so that `import privql` costs nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers know the name; importing it from `typing` would cost more than all the rest
if TYPE_CHECKING:
    from typing import Any

    from privql.diagnostics import Diagnostic as Diagnostic
    from privql.diagnostics import PrivQLError as PrivQLError
    from privql.finish.result import Release as Release
    from privql.session import Session as Session
    from privql.session import apply as apply
    from privql.session import connect as connect
    from privql.session import policy_diff as policy_diff
    from privql.session import policy_history as policy_history

_HOMES = {
    "Diagnostic": "privql.diagnostics",
    "PrivQLError": "privql.diagnostics",
    "Release": "privql.finish.result",
    "Session": "privql.session",
    "apply": "privql.session",
    "connect": "privql.session",
    "policy_diff": "privql.session",
    "policy_history": "privql.session",
}
__all__ = [
    "Diagnostic",
    "PrivQLError",
    "Release",
    "Session",
    "__version__",
    "apply",
    "connect",
    "policy_diff",
    "policy_history",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `privql` has no attribute `{name}`")
    from importlib import import_module

    found = getattr(import_module(_HOMES[name]), name)
    if _HOMES[name] == "privql.session":
        from privql.boundary import guarded, guarded_methods

        if "Session" not in globals():  # whoever connects gets a guarded session
            globals()["Session"] = guarded_methods(import_module("privql.session").Session)
        found = globals()["Session"] if name == "Session" else guarded(found)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
