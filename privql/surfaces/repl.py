"""Ask line by line: a statement ends at its `;`, its cost is shown before its answer and the budget after.

`lines` come from a terminal (terminal.py) or from a pipe; everything else is the same for both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from privql.diagnostics import PrivQLError
from privql.surfaces.formats import FAULT, Printer
from privql.surfaces.inputs import WrongUsage
from privql.surfaces.progress import watched
from privql.syntax.lexer import SEMICOLON, lex

if TYPE_CHECKING:
    from privql.session import Session

HELP = """\
A statement ends with `;` and may take several lines.
  SELECT ... SPEND EPSILON 0.1;     ask; the cost is shown before the answer
  EXPLAIN SELECT ...;               how it would be measured, and what it would cost; free
  SHOW TABLES; SHOW BUDGET; SHOW RELEASES; DESCRIBE patients;
  BEGIN; SELECT ...; COMMIT;        charge several as one plan; EXPLAIN; in between shows it, ROLLBACK; forgets it
  SET epsilon = 0.1;                what a query without SPEND or WITHIN may spend
  \\?  this help      \\q  leave (Ctrl-D)      Ctrl-C  forget the line, stop a running query"""


class Reader(Protocol):
    """Where lines come from."""

    def line(self) -> str:
        """The next line or lines; EOFError at the end, KeyboardInterrupt to forget what stands so far."""


class Pipe:
    """Standard input that is not a terminal: no prompt, no history."""

    def line(self) -> str:
        raw = sys.stdin.buffer.readline()
        if not raw:
            raise EOFError
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise WrongUsage("<stdin> is not UTF-8 text") from None


def repl(session: Session, params: Mapping[str, str], format: str) -> int:
    if sys.stdin is None:
        raise WrongUsage("standard input is closed")
    if sys.stdin.isatty() and sys.stdout.isatty():
        from privql.surfaces.terminal import Terminal

        _Conversation(session, params, format).run(Terminal(session, whole))
        return 0
    conversation = _Conversation(session, params, format)
    conversation.run(Pipe())
    return 1 if conversation.rejected else 0


class _Conversation:
    def __init__(self, session: Session, params: Mapping[str, str], format: str) -> None:
        self.session = session
        self.params = params
        self.printer = Printer(format, sys.stdout)
        self.rejected = False

    def run(self, reader: Reader) -> None:
        self._converse(reader)
        if self.session.in_cart:
            self.complain("BEGIN without COMMIT: what was in the cart is forgotten, and nothing of it was charged")

    def _converse(self, reader: Reader) -> None:
        for statement in _statements(reader):
            if statement in ("\\q", "\\quit"):
                return
            try:
                self.answer(statement)
            except PrivQLError as rejected:
                self.complain(str(rejected))
            except OSError:
                raise
            except Exception:
                if os.environ.get("PRIVQL_TRACEBACK"):
                    raise
                self.complain(FAULT)
            except KeyboardInterrupt:
                if not isinstance(reader, Pipe):
                    print("interrupted; a charge already made stands, and asking again resumes it", file=sys.stderr)
                    continue
                raise

    def complain(self, message: str) -> None:
        self.rejected = True
        sys.stdout.flush()
        print(f"{message}\n", file=sys.stderr, flush=True)

    def answer(self, statement: str) -> None:
        if statement.startswith("\\"):
            print(
                HELP if statement in ("\\?", "\\h", "\\help") else f"there is no {statement}; \\? lists what there is"
            )
            return
        table = self.printer.format == "table"
        if table:
            checked = self.session.check(statement, params=self.params)
            if checked.cost.epsilon and checked.env.cart is None:
                print(f"cost {checked.cost}")
        with watched("running", None):
            release = self.session.run(statement, params=self.params)
        for answer in release.answers:
            self.printer.release(answer)
        if table or not release.answers:
            self.printer.release(release)
        if table and release.cost.epsilon:
            print(self.session.budget().line())
        sys.stdout.flush()


def _statements(reader: Reader) -> Iterator[str]:
    """Whole statements, however the lines cut them; a `\\` command is a line of its own."""
    pending = ""
    while True:
        try:
            line = reader.line()
        except KeyboardInterrupt:
            if isinstance(reader, Pipe):
                raise
            pending = ""
            continue
        except EOFError:
            if pending.strip() and isinstance(reader, Pipe):
                yield pending
            return
        if not pending.strip() and (said := _command(line)):
            yield said
            continue
        pending += line
        if ";" in line or pending == line:  # nothing else ends a statement, or turns out to be a mere comment
            finished, pending = split(pending)
            yield from finished


def _command(line: str) -> str:
    """A line that is no SQL: `\\q`, or the word that people try first."""
    word = line.strip().rstrip(";").strip()
    tried = word.lower().removeprefix(".")
    return {"quit": "\\q", "exit": "\\q", "help": "\\?"}.get(tried, word if word.startswith("\\") else "")


def split(text: str) -> tuple[list[str], str]:
    """The finished statements of a text, and what is begun after them."""
    read = lex(text)
    finished, start, words = [], 0, 0
    for kind, end in zip(read.tokens.kinds, read.tokens.ends, strict=True):
        if kind != SEMICOLON:
            words += 1
            continue
        if words or any(start <= fault.span.start < end for fault in read.faults):
            finished.append(text[start:end])
        start, words = end, 0
    begun = words or any(fault.span.start >= start for fault in read.faults)
    return finished, text[start:] if begun else ""


def whole(text: str) -> bool:
    """Whether Enter hands the text over, or begins another line of it."""
    if not text.strip() or text.lstrip().startswith("\\"):
        return True
    return not split(text)[1]
