"""Pictures as SVG, by hand: legible on a light page and on a dark one, as the reader's system asks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

LIGHT = {"paper": "#ffffff", "ink": "#1f2328", "soft": "#6e7781", "faint": "#d8dee4", "exact": "#c9372c",
         "privql": "#0969da", "bound": "#8250df"}  # fmt: skip
DARK = {"paper": "#0d1117", "ink": "#e6edf3", "soft": "#8d96a0", "faint": "#30363d", "exact": "#ff7b72",
        "privql": "#58a6ff", "bound": "#bc8cff"}  # fmt: skip


def _painted(colours: Mapping[str, str]) -> str:
    return "".join(f".{name}{{fill:{colour}}}.{name}-line{{stroke:{colour}}}" for name, colour in colours.items())


STYLE = (
    'text{font:13px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}.head{font-size:15px;font-weight:600}'
    f"{_painted(LIGHT)}@media (prefers-color-scheme:dark){{{_painted(DARK)}}}"
)


def _n(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


class Picture:
    def __init__(self, width: int, height: int, title: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="{escape(title)}">',
            f"<title>{escape(title)}</title><style>{STYLE}</style>",
            f'<rect width="{width}" height="{height}" rx="8" class="paper"/>',
        ]
        self.text(20, 28, title, "ink", bold=True)

    def text(
        self, x: float, y: float, said: str, colour: str = "ink", *, anchor: str = "start", bold: bool = False
    ) -> None:
        look = f"{colour} head" if bold else colour
        self._parts.append(f'<text x="{_n(x)}" y="{_n(y)}" class="{look}" text-anchor="{anchor}">{escape(said)}</text>')

    def sideways(self, x: float, y: float, said: str) -> None:
        self._parts.append(
            f'<text transform="translate({_n(x)} {_n(y)}) rotate(-90)" class="soft" text-anchor="middle">'
            f"{escape(said)}</text>"
        )

    def path(self, d: str, colour: str, *, filled: float = 0.0, dashed: bool = False, width: float = 2) -> None:
        look = f'class="{colour}" fill-opacity="{filled:g}"' if filled else f'class="{colour}-line" fill="none"'
        stroke = f' stroke-width="{width:g}" stroke-linejoin="round"' if width else ""
        dashes = ' stroke-dasharray="4 4"' if dashed else ""
        self._parts.append(f'<path d="{d}" {look}{stroke}{dashes}/>')

    def circle(self, x: float, y: float, colour: str) -> None:
        self._parts.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="4.5" class="{colour}"/>')

    def cells(self, x: float, y: float, size: float, right: NDArray[np.bool_]) -> None:
        """A square of what was guessed: what is right is coloured, run by run of each row."""
        side = 1 << len(right).bit_length() // 2  # of a power of two: a square, or half of one
        step = size / side
        self.path(
            f"M{_n(x)} {_n(y)}h{_n(size)}v{_n(step * len(right) / side)}h{_n(-size)}z", "faint", filled=1, width=0
        )
        d = [f"M{run[0] % side} {run[0] // side}h{run[1]}v1h-{run[1]}z" for run in _runs(right, side)]
        place = f'transform="translate({_n(x)} {_n(y)}) scale({step:.4f})"'
        self._parts.append(f'<path d="{"".join(d)}" class="exact" {place}/>')

    def written(self) -> str:
        return "\n".join([*self._parts, "</svg>\n"])


def _runs(right: NDArray[np.bool_], side: int) -> Iterable[tuple[int, int]]:
    begun: int | None = None
    for at in range(len(right) + 1):
        inside = at < len(right) and bool(right[at])
        if begun is not None and (not inside or at % side == 0):
            yield begun, at - begun
            begun = None
        if inside and begun is None:
            begun = at


class Axes:
    """A frame within a picture, in the data's own numbers."""

    def __init__(
        self,
        picture: Picture,
        box: tuple[float, float, float, float],
        across: tuple[float, float],
        up: tuple[float, float],
        *,
        logarithmic: bool = False,
    ) -> None:
        self._picture, self._box, self._across, self._up, self._log = picture, box, across, up, logarithmic

    def at(self, x: float, y: float) -> tuple[float, float]:
        left, top, width, height = self._box
        (low, high), (down, up) = self._across, self._up
        part = math.log(x / low) / math.log(high / low) if self._log else (x - low) / (high - low)
        return left + part * width, top + (1 - (y - down) / (up - down)) * height

    def frame(
        self, below: str, beside: str, across: Sequence[float], up: Sequence[float], *, percent: bool = True
    ) -> None:
        left, top, width, height = self._box
        for y in up:
            _, v = self.at(self._across[0], y)
            self._picture.path(f"M{_n(left)} {_n(v)}h{_n(width)}", "faint", width=1)
            self._picture.text(left - 8, v + 4, f"{100 * y:g}%" if percent else f"{y:g}", "soft", anchor="end")
        for x in across:
            h, _ = self.at(x, self._up[0])
            self._picture.path(f"M{_n(h)} {_n(top + height)}v5", "soft", width=1)
            self._picture.text(h, top + height + 20, f"{x:g}", "soft", anchor="middle")
        self._picture.text(left + width / 2, top + height + 42, below, "soft", anchor="middle")
        self._picture.sideways(left - 46, top + height / 2, beside)

    def line(self, points: Sequence[tuple[float, float]], colour: str, *, dashed: bool = False) -> None:
        places = (self.at(x, y) for x, y in points)
        self._picture.path("M" + "L".join(f"{_n(h)} {_n(v)}" for h, v in places), colour, dashed=dashed)

    def area(self, points: Sequence[tuple[float, float]], colour: str, filled: float) -> None:
        places = (self.at(x, y) for x, y in points)
        d = "M" + "L".join(f"{_n(h)} {_n(v)}" for h, v in places) + "z"
        self._picture.path(d, colour, filled=filled, width=0)

    def dot(self, x: float, y: float, colour: str) -> None:
        self._picture.circle(*self.at(x, y), colour)

    def say(self, x: float, y: float, said: str, colour: str, *, end: bool = False) -> None:
        h, v = self.at(x, y)
        self._picture.text(h, v, said, colour, anchor="end" if end else "start")
