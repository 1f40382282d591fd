"""What starting costs above bare Python, in milliseconds: the version, a check, a run on Parquet, a ready REPL.

Each command runs in a fresh process, alternating with `python -c pass`; the medians are compared.
"""

from __future__ import annotations

import os
import pty
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROUNDS = 15
POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (
  patient_id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 120, sex TEXT IN ('F', 'M')
) FROM 'patients.parquet';
CREATE BUDGET research FOR UNIT patient EPSILON 1000;
GRANT research TO alice;
"""
REPORT = "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM patients GROUP BY sex SPEND EPSILON 0.01;\n"
CACHED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
LIMITS = {"--version": 20, "check": 150, "run": 250, "repl": 250}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        privql = [sys.executable, "-m", "privql"]
        ledger = ["--ledger", "ledger.db", "--as", "alice"]
        commands = {
            "--version": [*privql, "--version"],
            "check": [*privql, "check", "report.pql", *ledger],
            "run": [*privql, "run", "report.pql", *ledger],
            "repl": [*privql, "repl", *ledger],
        }
        print(f"{'command':<12} {'above bare Python':>18} {'limit':>8}")
        for what, command in commands.items():
            above = measure(command, folder, prompted if what == "repl" else timed)
            print(f"{what:<12} {above:>15.1f} ms {LIMITS[what]:>5} ms{'' if above <= LIMITS[what] else '  over'}")


def prepare(folder: Path) -> None:
    import duckdb

    (folder / "policy.pql").write_text(POLICY, encoding="utf-8")
    (folder / "report.pql").write_text(REPORT, encoding="utf-8")
    duckdb.sql(
        "COPY (SELECT 'p' || i AS patient_id, (i * 7) % 100 AS age, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex"
        f" FROM range(100000) t(i)) TO '{folder / 'patients.parquet'}'"
    )
    subprocess.run([sys.executable, "-m", "privql", "policy", "apply", "policy.pql"], cwd=folder, check=True)


def measure(command: list[str], folder: Path, taken: Callable[[list[str], Path], float]) -> float:
    bare, full = [], []
    taken(command, folder)  # writes the bytecode, as an installation does
    for _ in range(ROUNDS):
        bare.append(timed([sys.executable, "-c", "pass"], folder))
        full.append(taken(command, folder))
    return 1000 * (statistics.median(full) - statistics.median(bare))


def timed(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=CACHED, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def prompted(command: list[str], folder: Path) -> float:
    """Until a terminal shows the prompt."""
    start = time.perf_counter()
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execve(command[0], command, {**CACHED, "TERM": "xterm", "XDG_STATE_HOME": str(folder)})
    seen = b""
    while b"privql>" not in seen:
        seen += os.read(terminal, 4096)
        if b"\x1b[6n" in seen:  # it asks where the cursor is
            os.write(terminal, b"\x1b[1;1R")
            seen = seen.replace(b"\x1b[6n", b"")
    taken = time.perf_counter() - start
    os.write(terminal, b"\x04")
    while True:
        try:
            if not os.read(terminal, 4096):
                break
        except OSError:  # how a terminal says that the other side is gone
            break
    os.waitpid(process, 0)
    os.close(terminal)
    return taken


if __name__ == "__main__":
    main()
