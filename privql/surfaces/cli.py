"""The command line: thin. It reads text and parameters, hands them to a session and prints what comes back.

Exit 0: accepted. 1: rejected, diagnostics on standard error. 2: wrong usage, one line on standard error.
Ctrl-C and a closed pipe leave as every command does under a shell: 130 and 141.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import privql
from privql.diagnostics import PrivQLError
from privql.surfaces import certificates, inputs
from privql.surfaces.attack import attack_command
from privql.surfaces.audit import audit_command
from privql.surfaces.conformance import conformance_command
from privql.surfaces.doctor import doctor_command
from privql.surfaces.formats import FAULT, Printer
from privql.surfaces.inputs import WrongUsage
from privql.surfaces.keeping import ledger_commands
from privql.surfaces.owner import owner_commands
from privql.surfaces.progress import watched
from privql.surfaces.source import source_commands
from privql.surfaces.words import (
    ACCEPTED,
    INTERRUPTED,
    PIPE_CLOSED,
    REJECTED,
    WRONG,
    complain,
    connections_option,
    format_option,
    ledger_option,
)

if TYPE_CHECKING:
    from privql.finish.result import Release
    from privql.session import Session


def main(arguments: Sequence[str]) -> int:
    """Run one command. Nothing that a user can do ends in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        if sys.stdout is None:
            raise WrongUsage("standard output is closed")
        code = _carry_out(arguments)
        sys.stdout.flush()
        return code
    except WrongUsage as wrong:
        return _leave(WRONG, f"privql: {wrong}")
    except PrivQLError as rejected:
        return _leave(REJECTED, str(rejected))
    except KeyboardInterrupt:
        return _leave(
            INTERRUPTED,
            "privql: interrupted; what was already released stays in the ledger, and what was charged is taken up for "
            "nothing when it is asked again",
        )
    except BrokenPipeError:
        _forget_output()
        return _leave(
            PIPE_CLOSED, "privql: the reader closed the output; what was already released stays in the ledger"
        )
    except OSError as failure:
        # Only the terminal, a pipe or a full disk: the rooms below turn their own failures into diagnostics.
        _forget_output()
        return _leave(WRONG, f"privql: cannot go on: {failure.strerror or 'the system refused'}")
    except Exception:
        if os.environ.get("PRIVQL_TRACEBACK"):
            raise
        return _leave(REJECTED, FAULT)


def _carry_out(arguments: Sequence[str]) -> int:
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as helped:
        return int(helped.code or 0)
    command: Callable[[argparse.Namespace], int] = options.command
    return command(options)


def _leave(code: int, message: str) -> int:
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    with suppress(OSError, ValueError, AttributeError):
        print(message, file=sys.stderr, flush=True)
    return code


def _forget_output() -> None:
    """Point standard output at nothing, so that the interpreter does not fail again while it closes it."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# ---------------------------------------------------------------- the commands


def _check(options: argparse.Namespace) -> int:
    given = inputs.query_text(options.file, options.text)
    with _session(options) as session:
        checked = session.check_text(given.text, name=given.name, params=inputs.parameters(options.param))
    Printer(options.format, sys.stdout).check(checked)
    complain(checked.diagnostics)
    return ACCEPTED if checked.ok else REJECTED


def _run(options: argparse.Namespace) -> int:
    given = inputs.query_text(options.file, options.text)
    printer, kept = Printer(options.format, sys.stdout), certificates.files(options.certificates, options.sign)
    with _session(options) as session:
        answers = session.run_text(
            given.text, name=given.name, params=inputs.parameters(options.param), partial=options.partial
        )
        while (release := _next(answers)) is not None:
            kept.leave(release)
            printer.release(release)
            sys.stdout.flush()  # what is paid for is handed out before the next statement spends
    return ACCEPTED


def _next(answers: Iterator[Release]) -> Release | None:
    """How far the engine is follows from rows, so who asks is told the time that has passed alone."""
    with watched("running", None):
        return next(answers, None)


def _explain(options: argparse.Namespace) -> int:
    given = inputs.query_text(options.file, options.text)
    with _session(options) as session:
        explained = session.explain_text(given.text, name=given.name, params=inputs.parameters(options.param))
    Printer(options.format, sys.stdout).explain(explained)
    return ACCEPTED


def _budget(options: argparse.Namespace) -> int:
    with _session(options) as session:
        Printer(options.format, sys.stdout).budget(session.budget())
    return ACCEPTED


def _repl(options: argparse.Namespace) -> int:
    from privql.surfaces.repl import repl

    with _session(options) as session:
        return repl(session, inputs.parameters(options.param), options.format)


def _demo(options: argparse.Namespace) -> int:
    from privql.surfaces.demo import demo

    return demo(options.folder, main)


def _session(options: argparse.Namespace) -> Session:
    from privql.session import connect

    analyst = inputs.analyst_name(options.analyst)
    data: Literal["dummy"] | None = "dummy" if options.dummy else None
    policy = getattr(options, "policy", None)
    if policy is not None:
        if options.command in (_run, _repl) and not options.dummy:  # its ledger would be a fresh budget each time
            raise WrongUsage("private rows are answered under a ledger only; --policy with --dummy asks invented ones")
        inputs.query_text(policy, None)
        return connect(policy=policy, ledger=":memory:", analyst=analyst, data=data, connections=options.connections)
    ledger = inputs.existing_ledger(options.ledger)
    return connect(ledger, analyst=analyst, data=data, connections=options.connections)


# ---------------------------------------------------------------- the words


class _Parser(argparse.ArgumentParser):
    """Wrong arguments are one line, as every other wrong usage."""

    def error(self, message: str) -> NoReturn:
        raise WrongUsage(f"{message}; see `{self.prog} --help`")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="privql",
        description="SQL with a privacy type system: every query is proved and priced before a private row is read.",
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action="version", version=f"privql {privql.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(
        within: Any, name: str, does: Callable[[argparse.Namespace], int], says: str
    ) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = within.add_parser(name, help=says, description=says, allow_abbrev=False)
        made.set_defaults(command=does)
        return made

    def asking(name: str, does: Callable[[argparse.Namespace], int], says: str, text: bool) -> argparse.ArgumentParser:
        """A command in an analyst's name."""
        made = command(commands, name, does, says)
        if text:
            made.add_argument("file", nargs="?", metavar="FILE", help="a file of statements; - reads standard input")
            made.add_argument("-c", dest="text", metavar="TEXT", help="the statements themselves")
        ledger_option(made)
        connections_option(made)
        made.add_argument("--as", dest="analyst", metavar="NAME", help="who asks (the operating system's user)")
        made.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="bind $NAME; repeatable")
        made.add_argument("--dummy", action="store_true", help="invented rows instead of the private tables")
        format_option(made)
        return made

    demo = command(commands, "demo", _demo, "a synthetic hospital, its policy and a priced report, released")
    demo.add_argument("folder", nargs="?", default="demo", metavar="FOLDER", help="where to put it (demo)")
    attack_command(commands, command)
    audit_command(commands, command)
    policy = commands.add_parser("policy", help="the owner's: check a policy, apply it to a ledger, read its history")
    owner_commands(policy, command)
    source_commands(commands.add_parser("source", help="the owner's: let a server be read"), command)
    doctor_command(commands, command)
    conformance_command(commands, command)
    ledger = commands.add_parser("ledger", help="the owner's: audit a ledger, read it, try other budgets, forget")
    ledger_commands(ledger, command)
    for name, does, says in (
        ("check", _check, "prove and price a file of queries; reads no private row and spends nothing"),
        ("explain", _explain, "say how a query is measured, what it costs and why"),
    ):
        made = asking(name, does, says, text=True)
        made.add_argument("--policy", metavar="POLICY", help="check against a policy file alone, without a ledger")
    invented = "ask invented rows of this policy, without a ledger; needs --dummy"
    made = asking("run", _run, "charge the whole file as one plan, then release its answers one by one", text=True)
    made.add_argument("--policy", metavar="POLICY", help=invented)
    made.add_argument("--partial", action="store_true", help="charge each statement by itself, until the budget ends")
    certificates.file_options(made)
    certificates.certificate_commands(commands, command)
    made = asking("repl", _repl, "ask line by line", text=False)
    made.add_argument("--policy", metavar="POLICY", help=invented)
    asking("budget", _budget, "what is spent and what is left", text=False)
    return parser
