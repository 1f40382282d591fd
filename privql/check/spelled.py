"""Functions by the names that other dialects call them, and what to write here."""

from __future__ import annotations

_SPEND = "in `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1)`"
_LATER = "`t + INTERVAL '1' HOUR`"

SPELLED = {
    **dict.fromkeys(("dayofweek", "weekday"), "`ISODOW(x)`, where Monday is 1, or `DOW(x)`, where Sunday is 0"),
    "isnull": "`COALESCE(x, y)`",
    "age": "`DATESUB('year', a, b)`: the whole years from a to b",
    **dict.fromkeys(("geomean", "geometric_mean"), "`EXP(AVG(LN(x)))`, where x is positive"),
    "product": "`EXP(SUM(LN(x)))`, where x is positive",
    "dateadd": "`d + 7`, or `d + INTERVAL '1' MONTH`",
    "decode": "`CASE WHEN … THEN … ELSE … END`",
    "len": "`LENGTH(x)`",
    # PostgreSQL's, where there is no list, no JSON and no INTERVAL of a row
    "regexp_match": "`SUBSTRING(x FROM 'pattern')`",
    "regexp_split_to_array": "`SPLIT_PART(x, ',', 1)`",
    "string_to_array": "`SPLIT_PART(x, ',', 1)`",
    **dict.fromkeys(("json_extract", "json_query", "json_extract_path_text"), "`x -> 'a' ->> 'b'`"),
    "jsonb_array_length": "`JSON_ARRAY_LENGTH(x)`",
    "jsonb_typeof": "`JSON_TYPEOF(x)`",
    "make_interval": "`INTERVAL '1 year 2 months'`",
    "to_number": "`CAST(REPLACE(x, ',', '') AS DECIMAL(12, 2))`",
    # GoogleSQL's
    **{f"anon_{name}": f"`{name.upper()}(x)` {_SPEND}" for name in ("count", "sum", "avg", "var_pop", "stddev_pop")},
    **dict.fromkeys(("anon_percentile_cont", "anon_quantiles"), f"`QUANTILE(x, 0.5)` {_SPEND}"),
    "approx_quantiles": "`QUANTILE(x, 0.25)`, one for each fraction",
    "approx_count_distinct": "`COUNT(DISTINCT x)`",
    "approx_top_count": "`TOP(x, 3)`; with their counts, `COUNT(*)`, GROUP BY x, ORDER BY and LIMIT",
    "array_agg": "`STRING_AGG(x, ',')`: a value is no list",
    **dict.fromkeys(("safe_divide", "ieee_divide"), "`a / CAST(b AS FLOAT)`: where b is 0 it is NULL"),
    "safe_add": "`a + b`",
    "safe_subtract": "`a - b`",
    "safe_multiply": "`a * b`",
    "safe_negate": "`-a`",
    **dict.fromkeys(("format_date", "format_datetime", "format_timestamp"), "`STRFTIME(d, '%Y-%m')`"),
    **dict.fromkeys(("parse_date", "parse_datetime", "parse_timestamp"), "`STRPTIME(s, '%Y-%m-%d')`"),
    **dict.fromkeys(("datetime_trunc", "timestamp_trunc"), "`DATE_TRUNC('hour', t)`"),
    **dict.fromkeys(("datetime_diff", "timestamp_diff"), "`DATESUB('minute', a, b)`: the whole minutes from a to b"),
    **dict.fromkeys(("datetime_add", "timestamp_add"), _LATER),
    **dict.fromkeys(("datetime_sub", "timestamp_sub"), _LATER.replace("+", "-")),
    **dict.fromkeys(("date", "datetime", "timestamp"), "`MAKE_DATE(y, m, d)`, or `CAST(x AS DATE)`"),
    "date_from_unix_date": "`DATE '1970-01-01' + n`",
    "unix_date": "`d - DATE '1970-01-01'`",
    **dict.fromkeys(("generate_array", "generate_date_array"), "`FROM generate_series(1, 9) AS t (x)`"),
}
