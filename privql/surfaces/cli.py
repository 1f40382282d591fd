"""The command line: thin. It reads text and parameters, hands them to a session and prints what comes back.

Exit 0: accepted. 1: rejected, diagnostics on standard error. 2: wrong usage, one line on standard error.
Ctrl-C and a closed pipe leave as every command does under a shell: 130 and 141.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import privql
from privql.diagnostics import Diagnostic, PrivQLError, Source
from privql.surfaces import inputs
from privql.surfaces.formats import FAULT, FORMATS, Printer
from privql.surfaces.inputs import WrongUsage

if TYPE_CHECKING:
    from privql.session import Session

ACCEPTED, REJECTED, WRONG, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141


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
        return _leave(INTERRUPTED, "privql: interrupted; what was already released stays in the ledger")
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
    _complain(checked.diagnostics)
    return ACCEPTED if checked.ok else REJECTED


def _run(options: argparse.Namespace) -> int:
    given = inputs.query_text(options.file, options.text)
    printer = Printer(options.format, sys.stdout)
    with _session(options) as session:
        answers = session.run_text(
            given.text, name=given.name, params=inputs.parameters(options.param), partial=options.partial
        )
        for release in answers:
            printer.release(release)
            sys.stdout.flush()  # what is paid for is handed out before the next statement spends
    return ACCEPTED


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


def _policy_check(options: argparse.Namespace) -> int:
    from privql.policy.build import build_catalog

    given = inputs.query_text(options.policy, None)
    _, found = build_catalog(Source(given.text, given.name))
    rejected = any(diagnostic.severity == "error" for diagnostic in found)
    Printer(options.format, sys.stdout).policy(not rejected, found)
    _complain(found)
    return REJECTED if rejected else ACCEPTED


def _policy_apply(options: argparse.Namespace) -> int:
    from privql.session import apply

    inputs.query_text(options.policy, None)  # a file that is no text is wrong usage, whatever it would declare
    applied = apply(options.policy, ledger=options.ledger, reason=options.reason, by=inputs.analyst_name(options.by))
    Printer(options.format, sys.stdout).applied(applied)
    return ACCEPTED


def _policy_diff(options: argparse.Namespace) -> int:
    from privql.session import policy_diff

    inputs.query_text(options.policy, None)
    diff = policy_diff(options.policy, inputs.existing_ledger(options.ledger))
    Printer(options.format, sys.stdout).told(str(diff), diff.to_json())
    return REJECTED if diff.unreasoned else ACCEPTED


def _policy_history(options: argparse.Namespace) -> int:
    from privql.session import policy_history

    history = policy_history(inputs.existing_ledger(options.ledger))
    Printer(options.format, sys.stdout).told(str(history), history.to_json())
    return ACCEPTED


def _policy_show(options: argparse.Namespace) -> int:
    from privql.pipeline.versions import policy_text

    record = policy_text(inputs.existing_ledger(options.ledger), options.version)
    Printer(options.format, sys.stdout).told(record.text, {"version": record.version, "text": record.text})
    return ACCEPTED


def _demo(options: argparse.Namespace) -> int:
    from privql.surfaces.demo import demo

    return demo(options.folder, main)


def _session(options: argparse.Namespace) -> Session:
    from privql.session import connect

    analyst = inputs.analyst_name(options.analyst)
    data: Literal["dummy"] | None = "dummy" if options.dummy else None
    policy = getattr(options, "policy", None)
    if policy is not None:
        inputs.query_text(policy, None)
        return connect(policy=policy, ledger=":memory:", analyst=analyst, data=data)
    return connect(inputs.existing_ledger(options.ledger), analyst=analyst, data=data)


def _complain(diagnostics: Sequence[Diagnostic]) -> None:
    sys.stdout.flush()
    if diagnostics:
        print("\n\n".join(str(diagnostic) for diagnostic in diagnostics), file=sys.stderr)


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
        _ledger(made)
        made.add_argument("--as", dest="analyst", metavar="NAME", help="who asks (the operating system's user)")
        made.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="bind $NAME; repeatable")
        made.add_argument("--dummy", action="store_true", help="invented rows instead of the private tables")
        _format(made)
        return made

    demo = command(commands, "demo", _demo, "a synthetic hospital, its policy and a priced report, released")
    demo.add_argument("folder", nargs="?", default="demo", metavar="FOLDER", help="where to put it (demo)")
    policy = commands.add_parser("policy", help="the owner's: check a policy, apply it to a ledger, read its history")
    owner = policy.add_subparsers(metavar="check|diff|apply|history|show", required=True)
    for name, does, says in (
        ("check", _policy_check, "read a policy and say what is wrong with it"),
        ("diff", _policy_diff, "say what it would change for the loss; exit 1 if something needs a reason"),
        ("apply", _policy_apply, "make it the policy of a ledger, after its declarations were verified on the data"),
        ("history", _policy_history, "every version: when, by whom, why, and what it changed"),
        ("show", _policy_show, "the text of a version"),
    ):
        made = command(owner, name, does, says)
        if name in ("check", "diff", "apply"):
            made.add_argument("policy", metavar="POLICY", help="a file of CREATE UNIT, TABLE, BUDGET and GRANT")
        if name == "show":
            made.add_argument("version", metavar="VERSION", nargs="?", type=int, help="which one (that in force)")
        if name == "apply":
            made.add_argument("--reason", default="", metavar="TEXT", help="why less may be protected than before")
            made.add_argument("--as", dest="by", metavar="NAME", help="who applies it (the operating system's user)")
        _ledger(made)
        _format(made)

    for name, does, says in (
        ("check", _check, "prove and price a file of queries; reads no private row and spends nothing"),
        ("explain", _explain, "say how a query is measured, what it costs and why"),
    ):
        made = asking(name, does, says, text=True)
        made.add_argument("--policy", metavar="POLICY", help="check against a policy file alone, without a ledger")
    made = asking("run", _run, "price the whole file, then release its answers one by one", text=True)
    made.add_argument("--partial", action="store_true", help="run as many statements as the budget carries")
    asking("repl", _repl, "ask line by line", text=False)
    asking("budget", _budget, "what is spent and what is left", text=False)
    return parser


def _ledger(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ledger", default="ledger.db", metavar="LEDGER", help="where budget is kept (ledger.db)")


def _format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=FORMATS, default="table", help="how to print (table)")
