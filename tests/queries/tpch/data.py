"""TPC-H's eight tables at scale factor 0.01, drawn from a fixed seed: the specification's schema, sizes, key rules and
distributions, with shorter comments.

At this size some predicates of the queries would find nothing by chance, so the seed is one for which all 22 queries
have answers, and whose rankings are decided by more than the noise at ε = 10^6.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SEED = 2451
CUSTOMERS, ORDERS, PARTS, SUPPLIERS, CLERKS = 1_500, 15_000, 2_000, 100, 10
FIRST_DAY, TODAY = np.datetime64("1992-01-01"), np.datetime64("1995-06-17")
LAST_DAY = np.datetime64("1998-12-31")

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3),
    ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0),
    ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2),
    ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)  # fmt: skip
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
INSTRUCTIONS = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
TYPES = (
    ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
)
CONTAINERS = (("SM", "LG", "MED", "JUMBO", "WRAP"), ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"))
COLOURS = (
    "almond", "antique", "aquamarine", "azure", "beige", "bisque", "black", "blanched", "blue", "blush", "brown",
    "burlywood", "burnished", "chartreuse", "chiffon", "chocolate", "coral", "cornflower", "cornsilk", "cream",
    "cyan", "dark", "deep", "dim", "dodger", "drab", "firebrick", "floral", "forest", "frosted", "gainsboro", "ghost",
    "goldenrod", "green", "grey", "honeydew", "hot", "indian", "ivory", "khaki", "lace", "lavender", "lawn", "lemon",
    "light", "lime", "linen", "magenta", "maroon", "medium", "metallic", "midnight", "mint", "misty", "moccasin",
    "navajo", "navy", "olive", "orange", "orchid", "pale", "papaya", "peach", "peru", "pink", "plum", "powder",
    "puff", "purple", "red", "rose", "rosy", "royal", "saddle", "salmon", "sandy", "seashell", "sienna", "sky",
    "slate", "smoke", "snow", "spring", "steel", "tan", "thistle", "tomato", "turquoise", "violet", "wheat", "white",
    "yellow",
)  # fmt: skip
ADVERBS = ("quickly", "slowly", "carefully", "blithely", "furiously", "silently", "never", "daringly")
ADJECTIVES = ("special", "pending", "unusual", "express", "final", "regular", "even", "bold", "ironic", "silent")
NOUNS = ("requests", "packages", "accounts", "deposits", "foxes", "ideas", "theodolites", "pinto beans", "courts")
VERBS = ("sleep", "wake", "haggle", "nag", "cajole", "detect", "integrate", "boost", "doze", "engage")

Numbers = np.ndarray[Any, np.dtype[np.int64]]


def write_tables(folder: Path) -> None:
    """Each table as a Parquet file of its name."""
    random = np.random.default_rng(SEED)
    price = _retail_prices()
    lines = _lines(random, price)
    tables = {
        "region": _regions(random),
        "nation": _nations(random),
        "supplier": _suppliers(random),
        "part": _parts(random, price),
        "partsupp": _offers(random),
        "customer": _customers(random),
        "orders": _orders(random, lines),
        "lineitem": _lineitems(random, lines),
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")


# ---------------------------------------------------------------- what is public


def _regions(random: np.random.Generator) -> dict[str, Any]:
    return {"r_regionkey": np.arange(5), "r_name": REGIONS, "r_comment": _comments(random, 5)}


def _nations(random: np.random.Generator) -> dict[str, Any]:
    names, regions = zip(*NATIONS, strict=True)
    return {"n_nationkey": np.arange(25), "n_name": names, "n_regionkey": regions, "n_comment": _comments(random, 25)}


def _suppliers(random: np.random.Generator) -> dict[str, Any]:
    nations = random.permutation(np.arange(SUPPLIERS) % 25)  # four in each: a hundred are too few to leave it to chance
    comments = _comments(random, SUPPLIERS).to_pylist()
    for at, word in zip(random.choice(SUPPLIERS, 8, replace=False), ("Complaints", "Recommends") * 4, strict=True):
        comments[at] = f"Customer {comments[at]} {word}"
    return {
        "s_suppkey": np.arange(1, SUPPLIERS + 1),
        "s_name": _numbered("Supplier", np.arange(1, SUPPLIERS + 1)),
        "s_address": _addresses(random, SUPPLIERS),
        "s_nationkey": nations,
        "s_phone": _phones(random, nations),
        "s_acctbal": _hundredths(random.integers(-99_999, 1_000_000, SUPPLIERS)),
        "s_comment": comments,
    }


def _retail_prices() -> Numbers:
    """In cents, of the parts 1, 2, …"""
    key = np.arange(1, PARTS + 1)
    return 90_000 + key // 10 % 20_001 + 100 * (key % 1_000)


def _parts(random: np.random.Generator, price: Numbers) -> dict[str, Any]:
    words = random.permuted(np.tile(np.arange(len(COLOURS)), (PARTS, 1)), axis=1)[:, :5]
    maker, line = random.integers(1, 6, PARTS), random.integers(1, 6, PARTS)
    return {
        "p_partkey": np.arange(1, PARTS + 1),
        "p_name": _joined(*(_named(COLOURS, words[:, at]) for at in range(5))),
        "p_mfgr": np.char.mod("Manufacturer#%d", maker),
        "p_brand": np.char.mod("Brand#%d", 10 * maker + line),
        "p_type": _joined(*(_any_of(random, syllables, PARTS) for syllables in TYPES)),
        "p_size": random.integers(1, 51, PARTS),
        "p_container": _joined(*(_any_of(random, syllables, PARTS) for syllables in CONTAINERS)),
        "p_retailprice": _hundredths(price),
        "p_comment": _comments(random, PARTS),
    }


def _supplier_of(part: Numbers, which: Numbers) -> Numbers:
    """Each part has four suppliers, number 0 to 3."""
    return (part + which * (SUPPLIERS // 4 + (part - 1) // SUPPLIERS)) % SUPPLIERS + 1


def _offers(random: np.random.Generator) -> dict[str, Any]:
    parts, which = np.repeat(np.arange(1, PARTS + 1), 4), np.tile(np.arange(4), PARTS)
    return {
        "ps_partkey": parts,
        "ps_suppkey": _supplier_of(parts, which),
        "ps_availqty": random.integers(1, 10_000, len(parts)),
        "ps_supplycost": _hundredths(random.integers(100, 100_001, len(parts))),
        "ps_comment": _comments(random, len(parts)),
    }


# ---------------------------------------------------------------- what is private


def _customers(random: np.random.Generator) -> dict[str, Any]:
    nations = random.integers(0, 25, CUSTOMERS)
    return {
        "c_custkey": np.arange(1, CUSTOMERS + 1),
        "c_name": _numbered("Customer", np.arange(1, CUSTOMERS + 1)),
        "c_address": _addresses(random, CUSTOMERS),
        "c_nationkey": nations,
        "c_phone": _phones(random, nations),
        "c_acctbal": _hundredths(random.integers(-99_999, 1_000_000, CUSTOMERS)),
        "c_mktsegment": _any_of(random, SEGMENTS, CUSTOMERS),
        "c_comment": _comments(random, CUSTOMERS),
    }


def _lines(random: np.random.Generator, price: Numbers) -> dict[str, Any]:
    """What orders and their lines share. `first`: where each order's lines begin."""
    counts = random.integers(1, 8, ORDERS)
    first = np.concatenate(([0], np.cumsum(counts)[:-1]))
    total = int(counts.sum())
    ordered = FIRST_DAY + random.integers(0, int((LAST_DAY - FIRST_DAY).astype(int)) - 151 + 1, ORDERS)
    shipped = np.repeat(ordered, counts) + random.integers(1, 122, total)
    part, quantity = random.integers(1, PARTS + 1, total), random.integers(1, 51, total)
    return {
        "counts": counts,
        "first": first,
        "number": np.arange(total) - np.repeat(first, counts) + 1,
        "ordered": ordered,
        "shipped": shipped,
        "committed": np.repeat(ordered, counts) + random.integers(30, 91, total),
        "received": shipped + random.integers(1, 31, total),
        "part": part,
        "quantity": quantity,
        "price": quantity * price[part - 1],
        "discount": random.integers(0, 11, total),
        "tax": random.integers(0, 9, total),
    }


def _order_keys() -> Numbers:
    """Of every 32 keys only the first eight are in use."""
    at = np.arange(ORDERS)
    return at // 8 * 32 + at % 8 + 1


def _orders(random: np.random.Generator, lines: dict[str, Any]) -> dict[str, Any]:
    open_lines = np.add.reduceat((lines["shipped"] > TODAY).astype(int), lines["first"])
    status = np.where(open_lines == 0, "F", np.where(open_lines == lines["counts"], "O", "P"))
    to_pay = lines["price"] * (100 + lines["tax"]) * (100 - lines["discount"]) // 10_000
    third = random.integers(0, CUSTOMERS // 3 * 2, ORDERS)  # every third customer never orders
    return {
        "o_orderkey": _order_keys(),
        "o_custkey": third // 2 * 3 + third % 2 + 1,
        "o_orderstatus": status,
        "o_totalprice": _hundredths(np.add.reduceat(to_pay, lines["first"])),
        "o_orderdate": lines["ordered"],
        "o_orderpriority": _any_of(random, PRIORITIES, ORDERS),
        "o_clerk": _numbered("Clerk", random.integers(1, CLERKS + 1, ORDERS)),
        "o_shippriority": np.zeros(ORDERS, dtype=np.int64),
        "o_comment": _comments(random, ORDERS),
    }


def _lineitems(random: np.random.Generator, lines: dict[str, Any]) -> dict[str, Any]:
    total = len(lines["part"])
    returned = np.where(random.integers(0, 2, total) == 0, "R", "A")
    return {
        "l_orderkey": np.repeat(_order_keys(), lines["counts"]),
        "l_partkey": lines["part"],
        "l_suppkey": _supplier_of(lines["part"], random.integers(0, 4, total)),
        "l_linenumber": lines["number"],
        "l_quantity": _hundredths(lines["quantity"] * 100),
        "l_extendedprice": _hundredths(lines["price"]),
        "l_discount": _hundredths(lines["discount"]),
        "l_tax": _hundredths(lines["tax"]),
        "l_returnflag": np.where(lines["received"] <= TODAY, returned, "N"),
        "l_linestatus": np.where(lines["shipped"] > TODAY, "O", "F"),
        "l_shipdate": lines["shipped"],
        "l_commitdate": lines["committed"],
        "l_receiptdate": lines["received"],
        "l_shipinstruct": _any_of(random, INSTRUCTIONS, total),
        "l_shipmode": _any_of(random, MODES, total),
        "l_comment": _comments(random, total),
    }


# ---------------------------------------------------------------- columns


def _hundredths(whole: Numbers) -> pa.Array:
    """DECIMAL(15,2), exactly: Arrow keeps it as a whole number of 128 bits, of which a small one's upper half is its
    sign."""
    bits = np.stack([whole, whole >> 63], axis=1).astype(np.int64)
    return pa.Array.from_buffers(pa.decimal128(15, 2), len(whole), [None, pa.py_buffer(bits.tobytes())])


def _named(words: Sequence[str], at: Numbers) -> pa.Array:
    return pc.take(pa.array(words), pa.array(at))


def _any_of(random: np.random.Generator, words: Sequence[str], count: int) -> pa.Array:
    return _named(words, random.integers(0, len(words), count))


def _joined(*parts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*parts, " ")


def _comments(random: np.random.Generator, count: int) -> pa.Array:
    kinds = (ADVERBS, ADJECTIVES, NOUNS, VERBS, ADJECTIVES, NOUNS)
    return _joined(*(_any_of(random, words, count) for words in kinds))


def _numbered(what: str, keys: Numbers) -> Any:
    return np.char.mod(f"{what}#%09d", keys)


def _addresses(random: np.random.Generator, count: int) -> Any:
    letters = np.array(list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,"))
    return random.choice(letters, (count, 20)).view("<U20").ravel()


def _phones(random: np.random.Generator, nations: Numbers) -> Any:
    """A country's code is its nation's number and ten."""
    digits = random.integers((100, 100, 1000), (1000, 1000, 10_000), (len(nations), 3))
    return ["-".join(map(str, (10 + nation, *local))) for nation, local in zip(nations, digits, strict=True)]
