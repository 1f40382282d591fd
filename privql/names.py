"""When two names are one."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)  # the same few are folded all the time
def fold(name: str) -> str:
    """Names compare ASCII-case-insensitively: `Patient` is no fresh unit, `É` and `é` are two names."""
    return name.lower() if name.isascii() else "".join(c.lower() if c.isascii() else c for c in name)
