"""The invented rows, the same in every run, and the policy under which PrivQL reads them.

Columns are plain lists, so that they can be handed to a peer as JSON. Seeds are for data alone: no noise is seeded.
"""

from functools import cache

import numpy as np

Columns = dict[str, list[int]]
PEOPLE, HIGH, COST, GROUPS, ROWS = 5000, 100, 10_000, 20, 5
WIDE = 10**9
SIZES = range(60, 304, 4)

POLICY = f"""
CREATE UNIT person;
CREATE PRIVATE TABLE people (
  id INT UNIT person KEY,
  x INT BETWEEN 0 AND {HIGH} NOT NULL,
  y INT BETWEEN 0 AND {HIGH} NOT NULL,
  cost INT BETWEEN 0 AND {COST} NOT NULL,
  g INT BETWEEN 0 AND {GROUPS - 1} NOT NULL
);
CREATE PRIVATE TABLE earners (id INT UNIT person KEY, x INT BETWEEN 0 AND {WIDE} NOT NULL);
CREATE PRIVATE TABLE visits (id INT UNIT person, x INT BETWEEN 0 AND {HIGH} NOT NULL) AT MOST {ROWS} ROWS PER UNIT;
CREATE PRIVATE TABLE members (id INT UNIT person KEY, town TEXT NOT NULL);
CREATE BUDGET all_of_it FOR UNIT person EPSILON 1000000 DELTA 0.5;
GRANT all_of_it TO analyst;
"""


@cache
def people() -> Columns:
    """Values to the left of the middle of their range, as most are; y follows x; few large groups, many small."""
    random = np.random.default_rng(1)
    x = (HIGH * random.beta(2, 3, PEOPLE)).round().astype(int)
    y = np.clip(x // 2 + random.integers(0, 51, PEOPLE), 0, HIGH)
    cost = np.minimum(random.lognormal(8, 0.5, PEOPLE), COST).astype(int)
    weights = 1 / np.arange(1, GROUPS + 1)
    g = random.choice(GROUPS, PEOPLE, p=weights / weights.sum())
    return _columns(id=np.arange(PEOPLE), x=x, y=y, cost=cost, g=g)


@cache
def earners() -> Columns:
    """Ten thousand skewed numbers whose bounds nobody knows."""
    return _columns(id=np.arange(10_000), x=np.random.default_rng(2).lognormal(8, 1, 10_000).astype(int))


@cache
def visits() -> Columns:
    """One to five rows a person."""
    random = np.random.default_rng(3)
    id = np.repeat(np.arange(2000), random.integers(1, ROWS + 1, 2000))
    return _columns(id=id, x=random.integers(0, HIGH + 1, id.size))


@cache
def members() -> Columns:
    """Towns from few to many people, and one of a thousand; a town is named by its size."""
    town = np.repeat([*SIZES, 1000], [*SIZES, 1000])
    return _columns(id=np.arange(town.size), town=town)


def _columns(**columns: np.ndarray) -> Columns:
    return {name: values.tolist() for name, values in columns.items()}
