"""Where the randomness comes from: fresh for every call, every process, every bit."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import privql.noise
from privql.noise.entropy import system_words

FORK = """
import os
from fractions import Fraction
from privql.noise.entropy import system_words
from privql.noise.laplace import discrete_laplace

def draw():
    return system_words(4).tolist() + discrete_laplace(Fraction(2**60), 4).tolist()

before = draw()
reading, writing = os.pipe()
if os.fork() == 0:
    os.write(writing, repr(draw()).encode())
    os._exit(0)
os.wait()
child = eval(os.read(reading, 65536).decode())
parent = draw()
assert len(set(before + child + parent)) == 24, "two processes share words"
"""


def test_fork_gives_parent_and_child_different_noise() -> None:
    subprocess.run([sys.executable, "-c", FORK], check=True, cwd=Path(__file__).parents[2])


def test_every_bit_of_a_word_is_fair() -> None:
    words = system_words(1 << 16)
    assert words.dtype == np.uint64
    assert len(set(words.tolist())) == words.size
    ones = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).sum(axis=0)
    # Seven deviations: one failure in 10^10 runs.
    assert np.abs(ones - words.size / 2).max() < 7 * np.sqrt(words.size) / 2


@pytest.mark.parametrize("path", sorted(Path(privql.noise.__path__[0]).glob("*.py")), ids=lambda path: path.name)
def test_no_generator_can_be_seeded(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                assert all(name.name.split(".")[0] not in ("random", "secrets") for name in names)
            case ast.ImportFrom(module=module):
                assert (module or "").split(".")[0] != "random"
            case ast.Attribute(attr=attribute):
                assert attribute not in ("random", "seed", "default_rng")
            case _:
                pass
