"""What happens around a command: pipes that close, full disks, Ctrl-C, faults of our own. Never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.conftest import Command

CHECK = [sys.executable, "-m", "privql", "check", "report.pql", "--policy", "policy.pql", "--as", "alice"]


def left(hospital: Path, stdout: Any, **more: Any) -> tuple[int, str]:
    done = subprocess.run(CHECK, cwd=hospital, stdout=stdout, stderr=subprocess.PIPE, check=False, **more)
    told = done.stderr.decode()
    assert "Traceback" not in told
    assert "Exception ignored" not in told
    return done.returncode, told


def test_a_reader_that_is_gone_ends_the_command_quietly(hospital: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    code, told = left(hospital, writing)
    os.close(writing)
    assert code == 141
    assert len(told.splitlines()) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device to write to")
def test_a_full_disk_is_said(hospital: Path) -> None:
    with open("/dev/full", "wb") as full:
        code, told = left(hospital, full)
    assert code == 2
    assert len(told.splitlines()) == 1


def test_a_closed_output_is_wrong_usage(hospital: Path) -> None:
    code, told = left(hospital, None, preexec_fn=lambda: os.close(1))
    assert code == 2
    assert told.startswith("privql: ")


def test_an_output_without_greek_letters_gets_escapes(hospital: Path) -> None:
    code, _ = left(hospital, subprocess.DEVNULL, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert code == 0


@pytest.mark.parametrize(
    ("failure", "code"), [(KeyboardInterrupt(), 130), (RuntimeError("patient p0"), 1), (MemoryError(), 1)]
)
def test_failures_of_our_own_tell_nothing(
    privql: Command, monkeypatch: pytest.MonkeyPatch, failure: BaseException, code: int
) -> None:
    def fail(*arguments: object, **more: object) -> None:
        raise failure

    monkeypatch.setattr("privql.session.connect", fail)
    done = privql("check", "report.pql", "--policy", "policy.pql", "--as", "alice")
    assert done.code == code
    assert done.out == ""
    assert "p0" not in done.err
    assert done.err
