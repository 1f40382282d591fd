"""BigQuery's form means what the same query means in this language's own words, or says what to write."""

from __future__ import annotations

import pytest

from privql.check.bigquery import native
from privql.check.scope import Scope
from privql.check.typed import Context
from privql.pipeline.certificate import certificate
from privql.session import Session
from privql.syntax import parse_query, unparse
from tests.check.clinic import VISITS, clinic
from tests.check.test_refusals import applied

FORM = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS"

SAME = [
    (f"{FORM} (epsilon = 1) COUNT(*) FROM patients", "SELECT COUNT(*) FROM patients SPEND EPSILON 1"),
    (
        f"{FORM} (epsilon = 1/3, privacy_unit_column = p.patient_id) p.sex, AVG(p.age) AS a FROM patients p"
        " GROUP BY sex HAVING a > 3 ORDER BY a DESC LIMIT 2",
        "SELECT p.sex, AVG(p.age) AS a FROM patients p GROUP BY sex HAVING a > 3 ORDER BY a DESC LIMIT 2"
        " SPEND EPSILON (1/3)",
    ),
    (
        f"{FORM} (epsilon = 1, max_rows_contributed = 3)"
        " SUM(minutes, contribution_bounds_per_row => (0, 30)) FROM calls",
        "SELECT SUM(CLAMP(minutes, 0, 30)) FROM calls AT MOST 3 ROWS PER UNIT SPEND EPSILON 1",
    ),
    (
        f"{FORM} (epsilon = 1, max_groups_contributed = 2, group_selection_strategy = PUBLIC_GROUPS) sex,"
        " SUM(income, contribution_bounds_per_group => (-5, 30)), COUNT(*, contribution_bounds_per_group => (0, 1))"
        " FROM patients GROUP BY sex",
        "SELECT sex, SUM(CLAMP(income, -5, 30)), COUNT(*) FROM patients GROUP BY sex SPEND EPSILON 1",
    ),
    (
        f"{FORM} (epsilon = 1) COUNT(*, epsilon => 0.25), SUM(age) FROM adults",
        "SELECT COUNT(* SPEND EPSILON 0.25), SUM(age) FROM adults SPEND EPSILON 1",
    ),
    (f"{FORM} () COUNT(*) FROM patients WITHIN 20", "SELECT COUNT(*) FROM patients WITHIN 20"),
    (f"{FORM} () COUNT(*) FROM patients", "SELECT COUNT(*) FROM patients"),
    (
        f"{FORM} (epsilon = 1) COUNT(*) FROM patients UNION ALL {FORM} (epsilon = 2) COUNT(*) FROM members",
        "(SELECT COUNT(*) FROM patients SPEND EPSILON 1) UNION ALL (SELECT COUNT(*) FROM members SPEND EPSILON 2)",
    ),
    (
        f"WITH c AS (SELECT SUM(1) n FROM visits) {FORM} (epsilon = 2) COUNT(*) - (SELECT n FROM c) FROM patients",
        "WITH c AS (SELECT SUM(1) n FROM visits) SELECT COUNT(*) - (SELECT n FROM c) FROM patients SPEND EPSILON 2",
    ),
    (
        f"{FORM} (epsilon = 1) COUNT(*) FROM patients p JOIN"
        " (SELECT region, COUNT(*) AS n FROM patients GROUP BY region SPEND EPSILON 2) c ON p.region = c.region",
        "SELECT COUNT(*) FROM patients p JOIN"
        " (SELECT region, COUNT(*) AS n FROM patients GROUP BY region SPEND EPSILON 2) c ON p.region = c.region"
        " AT MOST 1 ROWS PER UNIT SPEND EPSILON 1",
    ),
    (  # there a δ must be written; it is spent where groups are looked for, and nowhere else
        f"{FORM} (epsilon = 1, delta = 1e-7) sex, COUNT(*) FROM patients GROUP BY sex",
        "SELECT sex, COUNT(*) FROM patients GROUP BY sex SPEND EPSILON 1",
    ),
    (
        f"{FORM} (epsilon = 1, delta = 1e-7) town, COUNT(*) FROM patients GROUP BY town",
        "SELECT town, COUNT(*) FROM patients GROUP BY town SPEND EPSILON 1 DELTA 1e-7",
    ),
    (
        f"{FORM} (epsilon = 1, group_selection_strategy = PUBLIC_GROUPS) t.town, COUNT(*) FROM patients"
        " RIGHT OUTER JOIN (SELECT DISTINCT name AS town FROM regions) AS t USING (town) GROUP BY t.town",
        "SELECT t.town, COUNT(*) FROM patients JOIN (SELECT DISTINCT name AS town FROM regions) AS t USING (town)"
        " GROUP BY t.town KEYS (SELECT DISTINCT name AS town FROM regions) SPEND EPSILON 1",
    ),
    (
        f"{FORM} (epsilon = 1, group_selection_strategy = 'public_groups') a, COUNT(*) FROM"
        " (SELECT DISTINCT a FROM UNNEST([3, 4]) AS u (a)) LEFT JOIN patients ON age = a GROUP BY 1",
        "SELECT a, COUNT(*) FROM (SELECT DISTINCT a FROM UNNEST([3, 4]) AS u (a)) JOIN patients ON age = a"
        " GROUP BY 1 KEYS (SELECT DISTINCT a FROM UNNEST([3, 4]) AS u (a)) SPEND EPSILON 1",
    ),
    (
        f"{FORM} (epsilon = 1, group_selection_strategy = PUBLIC_GROUPS) t.town, COUNT(*) FROM patients"
        " RIGHT OUTER JOIN (SELECT DISTINCT name AS town FROM regions) AS t USING (town) GROUP BY 1",
        "SELECT t.town, COUNT(*) FROM patients JOIN (SELECT DISTINCT name AS town FROM regions) AS t USING (town)"
        " GROUP BY t.town KEYS (SELECT DISTINCT name AS town FROM regions) SPEND EPSILON 1",
    ),
    (
        f"{FORM} (epsilon = 1, group_selection_strategy = PUBLIC_GROUPS) COUNT(*), t.town FROM patients"
        " RIGHT OUTER JOIN (SELECT DISTINCT name AS town FROM regions) AS t USING (town) GROUP BY 2",
        "SELECT COUNT(*), t.town FROM patients JOIN (SELECT DISTINCT name AS town FROM regions) AS t USING (town)"
        " GROUP BY t.town KEYS (SELECT DISTINCT name AS town FROM regions) SPEND EPSILON 1",
    ),
    (  # a note of what FROM says is not said twice
        f"{FORM} (epsilon = 1) COUNT(*) FROM patients p JOIN (SELECT code FROM regions SPEND EPSILON 1) r"
        " ON p.region = r.code",
        "SELECT COUNT(*) FROM patients p JOIN (SELECT code FROM regions SPEND EPSILON 1) r"
        " ON p.region = r.code SPEND EPSILON 1",
    ),
]

PER_GROUP = [
    (  # rows of persons are no list of groups: the join keeps what it keeps
        f"{FORM} (epsilon = 1, group_selection_strategy = PUBLIC_GROUPS) COUNT(age), COUNT(*) FROM patients"
        " RIGHT JOIN (SELECT DISTINCT patient_id FROM visits) AS v USING (patient_id)",
        "SELECT COUNT(age), COUNT(*) FROM patients RIGHT JOIN (SELECT DISTINCT patient_id FROM visits) AS v"
        " USING (patient_id) SPEND EPSILON 1",
    ),
    (
        f"{FORM} (epsilon = 1, max_groups_contributed = 2, privacy_unit_column = patient_id) ward,"
        " SUM(minutes, contribution_bounds_per_group => (0, 300)) AS m FROM visits GROUP BY ward ORDER BY m",
        'SELECT ward AS ward, SUM(CLAMP("total 1", 0, 300)) AS m FROM (SELECT ward AS ward, SUM(minutes) AS "total 1"'
        " FROM visits GROUP BY patient_id, ward) GROUP BY ward ORDER BY m AT MOST 2 ROWS PER UNIT SPEND EPSILON 1",
    ),
    (
        f"{FORM} (max_groups_contributed = 2) ward AS w, minutes / 60,"
        " COUNT(*, contribution_bounds_per_group => (0, 9)),"
        " COUNT(*, contribution_bounds_per_group => (0, 9)) / 2, AVG(minutes, contribution_bounds_per_group => (0, 5),"
        " epsilon => 0.1) FROM visits WHERE minutes > 3 GROUP BY w, 2 KEYS (0, 1)"
        " HAVING COUNT(*, contribution_bounds_per_group => (0, 9)) > 4",
        'SELECT ward AS w, "key 2" AS "column", SUM(CLAMP("total 1", 0, 9)) AS "count",'
        ' SUM(CLAMP("total 1", 0, 9)) / 2 AS "column", AVG(CLAMP("total 2", 0, 5) SPEND EPSILON 0.1) AS avg'
        ' FROM (SELECT ward AS ward, minutes / 60 AS "key 2", COUNT(*) AS "total 1", AVG(minutes) AS "total 2"'
        " FROM visits WHERE minutes > 3 GROUP BY patient_id, ward, minutes / 60)"
        ' GROUP BY ward, "key 2" KEYS (0, 1) HAVING SUM(CLAMP("total 1", 0, 9)) > 4 AT MOST 2 ROWS PER UNIT',
    ),
    (  # what is made of a total is no total
        f"{FORM} (max_groups_contributed = 2) UPPER(ward), ABS(COUNT(*, contribution_bounds_per_group => (0, 9)))"
        " FROM visits GROUP BY ward",
        'SELECT UPPER(ward) AS upper, ABS(SUM(CLAMP("total 1", 0, 9))) AS abs'
        ' FROM (SELECT ward AS ward, COUNT(*) AS "total 1" FROM visits GROUP BY patient_id, ward)'
        " GROUP BY ward AT MOST 2 ROWS PER UNIT",
    ),
    (  # a key is a column, whatever else has its name
        f"{FORM} (max_groups_contributed = 2) ward = 'a' AS ward, COUNT(*, contribution_bounds_per_group => (0, 9))"
        " FROM visits GROUP BY ward",
        "SELECT ward = 'a' AS ward,"
        ' SUM(CLAMP("total 1", 0, 9)) AS count FROM (SELECT ward AS ward, COUNT(*) AS "total 1"'
        " FROM visits GROUP BY patient_id, ward) GROUP BY ward AT MOST 2 ROWS PER UNIT",
    ),
    (
        f"{FORM} (max_groups_contributed = 2) v.ward = 'a' AS ward, minutes / 60,"
        " COUNT(*, contribution_bounds_per_group => (0, 9)) FROM visits v GROUP BY v.ward, minutes / 60 KEYS (0)",
        'SELECT ward = \'a\' AS ward, "key 2" AS "column", SUM(CLAMP("total 1", 0, 9)) AS count FROM (SELECT v.ward AS'
        ' ward, minutes / 60 AS "key 2", COUNT(*) AS "total 1" FROM visits v GROUP BY patient_id, v.ward, minutes / 60)'
        ' GROUP BY ward, "key 2" KEYS (0) AT MOST 2 ROWS PER UNIT',
    ),
    (
        f"{FORM} (epsilon = 1) SUM(minutes, contribution_bounds_per_group => (0, 60)) FROM calls",
        'SELECT SUM(CLAMP("total 1", 0, 60)) AS sum FROM (SELECT SUM(minutes) AS "total 1" FROM calls'
        " GROUP BY patient_id) AT MOST 1 ROWS PER UNIT SPEND EPSILON 1",
    ),
]

# what is written, the code, what the caret points at, and a part of the help
REFUSED = [
    (f"{FORM} (epsilom = 1) COUNT(*) FROM patients", "PQL0209", "epsilom = 1", "did you mean `epsilon`?"),
    (f"{FORM} (noise = 1) COUNT(*) FROM patients", "PQL0209", "noise = 1", "there is `epsilon`, `delta`, `max_groups"),
    (f"{FORM} (epsilon = 1, EPSILON = 2) COUNT(*) FROM patients", "PQL0105", "EPSILON = 2", "keep one"),
    (f"{FORM} (epsilon = 1) COUNT(*) FROM patients SPEND EPSILON 1", "PQL0105", "epsilon = 1", "keep one"),
    (f"{FORM} (epsilon = 1) COUNT(*) FROM patients WITHIN 5", "PQL0105", "epsilon = 1", "keep one"),
    (f"{FORM} (privacy_unit_column = sex) COUNT(*) FROM patients", "PQL0108", "sex", "_column = patient_id`"),
    (
        f"{FORM} (privacy_unit_column = 'patient_id') COUNT(*) FROM patients",
        "PQL0108",
        "'patient_id'",
        "_column = patient_id`",
    ),
    (
        f"{FORM} (group_selection_strategy = PUBLIC_GROUP) COUNT(*) FROM patients",
        "PQL0209",
        "PUBLIC_GROUP",
        "`PUBLIC_GROUPS`",
    ),
    (
        f"{FORM} (min_privacy_units_per_group = 9) COUNT(*) FROM patients",
        "PQL0408",
        "min_privacy_units_per_group = 9",
        "HAVING",
    ),
    (f"{FORM} (epsilon = 1) COUNT(*) FROM regions", "PQL0108", f"{FORM} (epsilon = 1) COUNT(*) FROM regions", "out"),
    (
        f"{FORM} (epsilon = 1) SUM(age, contribution_bound_per_row => (0, 9)) FROM patients",
        "PQL0209",
        "contribution_bound_per_row => (0, 9)",
        "did you mean `contribution_bounds_per_row`?",
    ),
    (
        f"{FORM} (epsilon = 1) SUM(age, contribution_bounds_per_row => 9) FROM patients",
        "PQL0303",
        "contribution_bounds_per_row => 9",
        "=> (0, 10)`",
    ),
    (
        f"{FORM} (epsilon = 1) COUNT(*, contribution_bounds_per_row => (0, 9)) FROM patients",
        "PQL0108",
        "contribution_bounds_per_row => (0, 9)",
        "out",
    ),
    (
        f"{FORM} (epsilon = 1) COUNT(*, contribution_bounds_per_group => (2, 9)) FROM patients",
        "PQL0302",
        "contribution_bounds_per_group => (2, 9)",
        "=> (0, 1)`",
    ),
    (
        f"{FORM} (epsilon = 1, max_rows_contributed = 2, max_groups_contributed = 3) COUNT(*) FROM calls",
        "PQL0108",
        "max_groups_contributed = 3",
        "or `max_rows_contributed` and `contribution_bounds_per_row`",
    ),
    (
        f"{FORM} (epsilon = 1) ward, COUNT(*, contribution_bounds_per_group => (0, 9)) FROM visits GROUP BY ward",
        "PQL0407",
        "contribution_bounds_per_group => (0, 9)",
        "`max_groups_contributed = 1`",
    ),
    (
        f"{FORM} (epsilon = 1, max_groups_contributed = 3) ward, COUNT(*) FROM visits GROUP BY ward",
        "PQL0402",
        "COUNT(*)",
        "`contribution_bounds_per_group => (0, 10)`",
    ),
    (
        f"{FORM} (epsilon = 1, max_groups_contributed = 1)"
        " MEDIAN(minutes, contribution_bounds_per_group => (0, 9)) FROM visits",
        "PQL0408",
        "MEDIAN(minutes, contribution_bounds_per_group => (0, 9))",
        "COUNT, SUM and AVG",
    ),
    (f"{FORM} (epsilon = 1) SUM(income) FROM patients", "PQL0402", "income", "CLAMP"),
    (
        "SELECT SUM(age, contribution_bounds_per_row => (0, 9)) FROM patients SPEND EPSILON 1",
        "PQL0303",
        "SUM(age, contribution_bounds_per_row => (0, 9))",
        "SUM(x)",
    ),
    (f"{FORM} (epsilon = 1, delta = 5) COUNT(*) FROM patients", "PQL0503", "5", "1e-7"),
    (f"{FORM} (epsilon = 1, kappa = 2) COUNT(*) FROM patients", "PQL0209", "kappa = 2", "max_groups_contributed"),
    (
        f"{FORM} (epsilon = 1, max_groups_contributed = NULL) COUNT(*) FROM calls",
        "PQL0308",
        "NULL",
        "`max_groups_contributed = 1`",
    ),
    (f"{FORM} (epsilon = 1, max_rows_contributed = 0) COUNT(*) FROM calls", "PQL0308", "0", "max_rows_contributed"),
    (
        f"{FORM} (epsilon = 1) SUM(age, contribution_bounds_per_group => (9, -1)) FROM patients",
        "PQL0302",
        "(9, -1)",
        "=> (-1, 9)`",
    ),
    (
        f"{FORM} (epsilon = 1) SUM(age, contribution_bounds_per_group => (0, 2 * cost)) FROM patients",
        "PQL0308",
        "cost",
        "number",
    ),
    (
        f"{FORM} (epsilon = 1) COUNT(*, report_format => 'JSON') FROM patients",
        "PQL0209",
        "report_format => 'JSON'",
        "leave it out",
    ),
    (
        f"{FORM} (epsilon = 1, group_selection_strategy = PUBLIC_GROUPS) code, COUNT(*) FROM patients"
        " RIGHT JOIN regions ON region = code GROUP BY code",
        "PQL0108",
        "regions",
        "KEYS",
    ),
    *(
        (
            f"{FORM} (epsilon = 1, group_selection_strategy = PUBLIC_GROUPS) town FROM patients"
            f" RIGHT JOIN (SELECT DISTINCT name AS town FROM regions) AS t USING (town) GROUP BY {position}",
            code,
            at,
            help,
        )
        for position, code, at, help in (
            ("0", "PQL0206", "0", "write 1"),
            ("2", "PQL0206", "2", "write 1"),
            ("1.5", "PQL0306", "town", "GROUP BY"),
        )
    ),
    (
        "SELECT WITH ANONYMIZATION OPTIONS (epsilon = 1) ANON_COUNT(*) FROM patients",
        "PQL0112",
        "ANONYMIZATION",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS",
    ),
    (
        f"{FORM} (max_groups_contributed = 2) ward AS w, COUNT(*, contribution_bounds_per_group => (0, 9)) FROM visits"
        " GROUP BY w.ward",
        "PQL0201",
        "w.ward",
        "`visits`",
    ),
    ("SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM patients", "PQL0112", "DIFFERENTIAL_PRIVACY", "OPTIONS (eps"),
    ("SELECT `sex` FROM patients", "PQL0106", "`sex`", '`"name"`'),
    ("SELECT SAFE_CAST(name AS INT64) FROM regions", "PQL0112", "SAFE_CAST", "TRY_CAST"),
    ("SELECT SAFE.LN(population) FROM regions", "PQL0112", "SAFE", "leave `SAFE.` out"),
    ("SELECT code FROM regions WHERE code IN UNNEST(['N'])", "PQL0112", "UNNEST", "IN ('a', 'b')"),
    ("SELECT DATE_TRUNC(founded, WEEK) FROM regions", "PQL0308", "WEEK", "ISOWEEK"),
    ("SELECT sex FROM patients |> AGGREGATE COUNT(*) GROUP BY sex", "PQL0106", "|>", "write SELECT, FROM, WHERE"),
]


@pytest.mark.parametrize(("form", "own"), SAME)
def test_it_measures_the_same_at_the_same_price(form: str, own: str, session: Session) -> None:
    told = []
    for text in (form, own):
        check = session.check(text)
        told.append(
            (
                [d.code for d in check.diagnostics],
                str(check.cost),
                check.plan and certificate(check.plan),
                [(column.name, column.domain) for column in check.columns],
            )
        )
    assert told[0] == told[1]


@pytest.mark.parametrize(("form", "own"), PER_GROUP)
def test_bounds_per_group_are_of_each_units_totals(form: str, own: str, session: Session) -> None:
    """The query below groups by the unit: what is said of that, is said of either spelling."""
    context = Context(session.check("SELECT 1").env)
    assert unparse(native(parse_query(form), context, Scope())) == unparse(parse_query(own))
    codes = [[d.code for d in session.check(text).diagnostics] for text in (form, own)]
    assert codes[0] == codes[1]


@pytest.mark.parametrize(("text", "code", "at", "help"), REFUSED)
def test_what_means_nothing_here_is_refused(text: str, code: str, at: str, help: str, session: Session) -> None:
    (found,) = session.check_text(text).diagnostics
    assert (found.code, text[found.span.start : found.span.end]) == (code, at)
    assert help in found.help
    if found.fixes:
        still = session.check_text(applied(text, found)).diagnostics
        assert (found.code, found.message) not in {(d.code, d.message) for d in still}


def test_each_units_totals_are_what_is_added_up() -> None:
    """With next to no noise: of every patient's minutes in a ward, as much as the bounds leave."""
    text = (
        f"{FORM} (epsilon = 450, max_groups_contributed = 2) ward,"
        " SUM(minutes, contribution_bounds_per_group => (5, 40)) AS m,"
        " COUNT(*, contribution_bounds_per_group => (0, 1)) AS n FROM visits GROUP BY ward"
    )
    totals = VISITS.groupby(["patient_id", "ward"])["minutes"].sum().clip(5, 40)
    with clinic() as session:
        found = {ward: (m, n) for ward, m, n in session.run(text).rows if ward is not None}
        several = f"{FORM} (epsilon = 450) SUM(minutes, contribution_bounds_per_group => (2, 4)) FROM calls"
        assert session.run(several).rows == ((2 + 4 + 4,),)  # of 0 + 1, 2 + 3 and 4 minutes
    for ward, (minutes, patients) in found.items():
        here = totals.xs(ward, level="ward")
        assert abs(minutes - here.sum()) <= 8
        assert patients == pytest.approx(len(here), abs=1)
    assert set(found) == {"a", "b"}
