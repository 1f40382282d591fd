"""`python -m tests.meaning related 17`: a query, and all that it is taken for."""

from __future__ import annotations

import sys

from tests.meaning.corpora import CORPORA

name, number = sys.argv[1:]
for what, said in CORPORA[name].meaning(int(number)).items():
    print(f"==== {what}\n{said}\n")
