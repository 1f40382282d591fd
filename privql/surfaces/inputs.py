"""What a command is given: query text from a file, a string or standard input, parameters, and who asks.

Whatever is wrong with it is a `WrongUsage`, said in one line before anything is checked.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from privql.frozen import frozen

LONGEST_TEXT = 16 * 1024 * 1024  # characters; a query file beyond this is some other file


class WrongUsage(Exception):
    """The command itself cannot be carried out as it was given; nothing was checked, nothing spent."""


@frozen
class Text:
    text: str
    name: str


def query_text(file: str | None, command: str | None, encoding: str = "utf-8-sig") -> Text:
    """The text of FILE, of standard input (`-`), or of `-c TEXT`."""
    if command is not None:
        if file is not None:
            raise WrongUsage("give a file or -c, not both")
        return Text(command, "<command>")
    if file is None:
        raise WrongUsage("give a file, - for standard input, or -c 'SELECT ...'")
    if file == "-":
        if sys.stdin is None:
            raise WrongUsage("standard input is closed")
        return Text(_decode(sys.stdin.buffer.read(LONGEST_TEXT + 1), "<stdin>", encoding), "<stdin>")
    return Text(_read(file, encoding), file)


def exact_text(file: str) -> str:
    """Every byte of FILE, or of standard input, where the text is hashed: a byte order mark is one more character."""
    return query_text(file, None, "utf-8").text


def _read(file: str, encoding: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            return _decode(opened.read(LONGEST_TEXT + 1), file, encoding)
    except (OSError, ValueError) as failure:
        raise WrongUsage(f"cannot read {file!r}: {_reason(failure)}") from None


def _reason(failure: Exception) -> str:
    if isinstance(failure, OSError) and failure.strerror:
        return failure.strerror[0].lower() + failure.strerror[1:]
    return "this is not a path"


def _decode(raw: bytes, name: str, encoding: str) -> str:
    if len(raw) > LONGEST_TEXT:
        raise WrongUsage(f"{name} is longer than {LONGEST_TEXT // 1024**2} MiB; this is not a query file")
    if b"\0" in raw:
        raise WrongUsage(f"{name} is a binary file, not PrivQL text")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as failure:
        line = raw.count(b"\n", 0, failure.start) + 1
        raise WrongUsage(f"{name} is not UTF-8 text (line {line})") from None


def parameters(given: Iterable[str]) -> dict[str, str]:
    """`k=v` pairs; values stay text and take the type of what they are compared with or used as."""
    bound: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        name = name.removeprefix("$")
        if not equals or not name.isidentifier():
            raise WrongUsage(f"--param takes name=value, not {pair!r}")
        if name in bound:
            raise WrongUsage(f"--param {name} is given twice")
        bound[name] = value
    return bound


def analyst_name(given: str | None) -> str:
    """Who asks: `--as`, or the operating system's user, who is harder to mistype than an environment variable."""
    if given is not None:
        if not given.strip():
            raise WrongUsage("--as takes the name of an analyst")
        return given
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        pass
    try:
        import getpass

        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        raise WrongUsage("the operating system does not say who you are; use --as NAME") from None


def existing_ledger(path: str) -> str:
    """A ledger is made by `privql policy apply` alone: a mistyped path must not start a fresh budget."""
    from privql.ledger import on_server  # a command that needs no ledger starts without

    if path != ":memory:" and not on_server(path) and not Path(path).is_file():
        if Path(path).is_dir():
            raise WrongUsage(f"{path!r} is a directory; name the ledger in it, `--ledger {Path(path, 'ledger.db')}`")
        raise WrongUsage(
            f"the ledger {path!r} is not there; its owner makes one with `privql policy apply POLICY --ledger {path}`"
        )
    return path
