"""Machines that look for bugs: how long each runs, what it counts, and the page that says when it last ran."""

from tests.assurance.recorder import SOAK, assured, length

__all__ = ["SOAK", "assured", "length"]
