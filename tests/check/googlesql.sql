-- both
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  APPROX_QUANTILES(age, 4, contribution_bounds_per_row => (0, 120)) AS v FROM patients;
SELECT APPROX_QUANTILES(population, 4) AS q FROM regions;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  COUNT(*) AS n FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patients.patient_id)
  sex, COUNT(*) FROM patients GROUP BY sex;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = p.patient_id)
  p.sex, COUNT(*) AS n FROM (SELECT * FROM patients) AS p GROUP BY 1 ORDER BY n DESC LIMIT 2;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_groups_contributed = 2)
  ward, COUNT(*, contribution_bounds_per_group => (0, 10)) AS n
FROM visits GROUP BY ward;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_groups_contributed = 2)
  ward, COUNT(minutes, contribution_bounds_per_group => (0, 10)) AS n
FROM visits GROUP BY ward;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_groups_contributed = 1)
  ward, SUM(minutes, contribution_bounds_per_group => (0, 600)) AS m, AVG(minutes, contribution_bounds_per_group => (0, 600)) AS a
FROM visits GROUP BY ward;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  AVG(minutes) AS a FROM visits;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = (patient_id))
  COUNT(*) FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_rows_contributed = 5)
  AVG(minutes) AS m
FROM calls;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, group_selection_strategy = LAPLACE_THRESHOLD)
  region, COUNT(*)
FROM patients GROUP BY region;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, group_selection_strategy = 'LAPLACE_THRESHOLD')
  region, COUNT(*)
FROM patients GROUP BY region;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  COUNT(*, epsilon => 0.4) AS n, AVG(age, epsilon => 0.6) AS a FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  COUNT(patient_id) AS n FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  SUM(IF(age > 60, 1, 0), contribution_bounds_per_group => (0, 1)) AS v FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  SUM(age) / COUNT(*) AS v FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  sex FROM patients GROUP BY sex;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  sex, COUNT(*) AS n FROM patients GROUP BY sex HAVING n > 5;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  sex, COUNT(*) AS n FROM patients GROUP BY ALL;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = v.patient_id, max_groups_contributed = 2)
  p.sex, COUNT(*, contribution_bounds_per_group => (0, 10)) AS n
FROM visits AS v JOIN patients AS p ON v.patient_id = p.patient_id GROUP BY p.sex;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_groups_contributed = 2)
  sex, COUNT(*, contribution_bounds_per_group => (0, 10)) AS n
FROM visits JOIN patients USING (patient_id) GROUP BY sex;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  COUNT(*, contribution_bounds_per_group => (0, 10)) AS n
FROM (SELECT patient_id, ward FROM visits UNION ALL SELECT patient_id, 'c' FROM calls);
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  COUNT(*) AS n FROM (SELECT patient_id, COUNT(*) AS times FROM visits GROUP BY patient_id) WHERE times > 3;
WITH old AS (SELECT *
FROM patients WHERE age > 60) SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id) sex, COUNT(*) AS n FROM old GROUP BY sex;
SELECT sex, n
FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id) sex, COUNT(*) AS n FROM patients GROUP BY sex) WHERE n > 5 ORDER BY n;
WITH counts AS (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id) sex, COUNT(*) AS n
FROM patients GROUP BY sex) SELECT sex, n / SUM(n) OVER () AS part FROM counts;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  SUM(age, contribution_bounds_per_group => STRUCT(0, 100)) AS m FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  SUM(age, contribution_bounds_per_group => (-5, 100)) AS m FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  EXTRACT(YEAR FROM admitted) AS y, COUNT(*) AS n FROM patients GROUP BY y;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  DATE_TRUNC(admitted, MONTH) AS m, COUNT(*) AS n FROM patients GROUP BY m;
SELECT COUNTIF(population > 100) AS n, LOGICAL_AND(open) AS everywhere, LOGICAL_OR(open) AS anywhere, ANY_VALUE(name) AS one FROM regions;
SELECT code FROM regions EXCEPT DISTINCT SELECT code FROM stations;
SELECT code FROM regions INTERSECT DISTINCT SELECT code FROM stations;
SELECT code FROM regions UNION DISTINCT SELECT code FROM stations;
SELECT code FROM regions UNION ALL SELECT code FROM stations;
SELECT code FROM regions EXCEPT ALL SELECT code FROM stations;
SELECT DATE_SUB(founded, INTERVAL 1 DAY) AS d, DATE_ADD(founded, INTERVAL 2 MONTH) AS e, DATE_DIFF(DATE '2024-01-01', founded, DAY) AS f FROM regions;
SELECT code, COUNT(*) AS n FROM stations GROUP BY ALL;
SELECT * REPLACE (population * 2 AS population) FROM regions;
SELECT CAST(population AS STRING) AS a, CAST(population AS FLOAT64) AS b, CAST(open AS INT64) AS c, CAST(population AS NUMERIC) AS d FROM regions;
SELECT IF(open, 1, 0) AS a, NULLIF(code, 'N') AS b, COALESCE(name, code) AS c, GREATEST(population, 3) AS d, MOD(population, 7) AS e, DIV(population, 7) AS f FROM regions;
SELECT x FROM UNNEST([1, 2, 3]) AS x;
SELECT STRING_AGG(code, ',') AS codes FROM regions;
SELECT code FROM regions WHERE population BETWEEN 5 AND 200 AND name IS NOT NULL AND code != 'Q' AND code <> 'R';
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  VAR_POP(age, contribution_bounds_per_row => (0, 120)) AS v FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  STDDEV_POP(age, contribution_bounds_per_row => (0, 120)) AS v FROM patients;
SELECT STDDEV_POP(population) AS a, VAR_SAMP(population) AS b, CORR(population, population) AS c FROM regions;
SELECT PERCENTILE_CONT(population, 0.5) OVER () AS median FROM regions;
SELECT CASE code WHEN 'N' THEN 1 ELSE 0 END AS north FROM regions LIMIT 2 OFFSET 1;
SELECT COUNT(DISTINCT code) AS n, MIN(height) AS a, MAX(height) AS b, SUM(staff) AS c FROM stations;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, group_selection_strategy = PUBLIC_GROUPS)
  r.code, COUNT(*) AS n
FROM patients AS p RIGHT OUTER JOIN (SELECT DISTINCT code FROM regions) AS r ON p.region = r.code GROUP BY r.code;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, group_selection_strategy = PUBLIC_GROUPS, max_groups_contributed = 1)
  town, COUNT(*, contribution_bounds_per_group => (0, 1)) AS n FROM (SELECT DISTINCT name AS town FROM regions) AS r LEFT JOIN patients USING (town) GROUP BY town;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, group_selection_strategy = PUBLIC_GROUPS, max_groups_contributed = 2)
  w AS ward, SUM(minutes, contribution_bounds_per_group => (0, 9)) AS n
FROM visits RIGHT JOIN (SELECT DISTINCT w FROM UNNEST(['a', 'b', 'c']) AS w) ON ward = w GROUP BY w;
SELECT DATE_TRUNC(founded, ISOWEEK) AS w, DATE_TRUNC(founded, MONTH) AS m, DATE_TRUNC(founded, YEAR) AS y FROM regions;
SELECT LAST_DAY(founded) AS d, IFNULL(name, 'none') AS name FROM regions;
SELECT ROUND(height, 1) AS a, TRUNC(height) AS b, SIGN(height) AS c, POW(height, 2) AS d, SQRT(ABS(height)) AS e FROM stations;
SELECT code FROM regions WHERE population > 1 QUALIFY ROW_NUMBER() OVER (ORDER BY population) <= 2;
SELECT EXTRACT(YEAR FROM founded) AS y, EXTRACT(QUARTER FROM founded) AS q, EXTRACT(DAYOFYEAR FROM founded) AS d FROM regions;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  PERCENTILE_CONT(age, 0.5, contribution_bounds_per_row => (0, 120)) AS v FROM patients;

-- ours: DISTINCT of values or units, CUBE and ROLLUP, least and greatest values, COUNTIF are measured here
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  COUNTIF(age > 60) AS v FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  MAX(age) AS v FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  COUNT(DISTINCT age) AS n FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  COUNT(DISTINCT patient_id) AS n FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  COUNT(DISTINCT patient_id, contribution_bounds_per_group => (0, 1)) AS n FROM visits;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  SUM(DISTINCT minutes, contribution_bounds_per_group => (0, 60)) AS n FROM visits;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  sex, COUNT(*) FROM patients GROUP BY ROLLUP (sex);
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  DISTINCT COUNT(*) FROM patients;

-- ours: bounds per row go with SUM and COUNT, too
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_rows_contributed = 5)
  SUM(minutes, contribution_bounds_per_row => (0, 60)) AS m
FROM calls;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_rows_contributed = 5)
  COUNT(*) AS m
FROM calls;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  SUM(age, contribution_bounds_per_row => (0, 100)) AS m FROM patients;

-- ours: an amount is exact, however it is written
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_groups_contributed = 1 + 1)
  ward, COUNT(*, contribution_bounds_per_group => (0, 10)) AS n
FROM visits GROUP BY ward;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_groups_contributed = 2.0)
  ward, COUNT(*, contribution_bounds_per_group => (0, 10)) AS n
FROM visits GROUP BY ward;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = '1', privacy_unit_column = patient_id)
  COUNT(*) FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  COUNT(*, contribution_bounds_per_group => (0.0, 1.0)) AS m FROM patients;

-- ours: groups are public whatever says so
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, group_selection_strategy = PUBLIC_GROUPS)
  sex, COUNT(*) AS n
FROM patients GROUP BY sex;

-- ours: other SQL
SELECT code, population FROM regions QUALIFY ROW_NUMBER() OVER (ORDER BY population) <= 2;
SELECT code FROM regions UNION SELECT code FROM stations;
SELECT 5 / 2 AS a, 7 % 2 AS b;

-- theirs: refused, with what to write instead
SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS () COUNT(*) FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_groups_contributed = 2)
  ward, COUNT(*) AS n
FROM visits GROUP BY ward;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_groups_contributed = NULL)
  COUNT(*, contribution_bounds_per_group => (0, 10)) AS n
FROM visits;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (EPSILON = LN(3), DELTA = 1/1000000, PRIVACY_UNIT_COLUMN = patient_id)
  sex, COUNT(*) FROM patients GROUP BY sex;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = `patient_id`)
  COUNT(*) FROM `patients`;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = region)
  COUNT(*) FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, min_privacy_units_per_group = 10)
  sex, COUNT(*)
FROM patients GROUP BY sex;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, group_selection_strategy = PUBLIC_GROUPS, max_groups_contributed = 1)
  r.code, COUNT(*) AS n
FROM patients AS p RIGHT OUTER JOIN (SELECT DISTINCT code FROM regions) AS r ON p.region = r.code GROUP BY r.code;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, group_selection_strategy = PUBLIC_GROUPS, max_groups_contributed = 1)
  r.code, COUNT(patient_id) AS n FROM (SELECT DISTINCT code FROM regions) AS r LEFT JOIN patients AS p ON p.region = r.code GROUP BY r.code;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, group_selection_strategy = PUBLIC_GROUPS, max_groups_contributed = 1)
  region, COUNT(*) AS n
FROM patients RIGHT JOIN (SELECT DISTINCT code AS region FROM regions) USING (region) GROUP BY region;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  COUNT(*, contribution_bounds_per_group => (0, 1), report_format => 'JSON') AS n FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = v.patient_id)
  COUNT(*, contribution_bounds_per_group => (0, 10)) AS n FROM visits AS v CROSS JOIN patients AS p;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  SUM(age, contribution_bounds_per_group => (100, 0)) AS m FROM patients;
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 1, delta = 1e-7, kappa = 1) sex, ANON_COUNT(*) FROM patients GROUP BY sex;
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 1) ANON_SUM(cost CLAMPED BETWEEN 0 AND 100) FROM patients;
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 1) ANON_AVG(cost) FROM patients;
SELECT ANON_COUNT(*) FROM patients;
SELECT WITH AGGREGATION_THRESHOLD OPTIONS (threshold = 10, privacy_unit_column = patient_id) sex, COUNT(*) AS n
FROM patients GROUP BY sex;
FROM patients |> AGGREGATE WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id) COUNT(*) AS n GROUP BY sex;
FROM regions |> WHERE population > 5 |> SELECT code;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  AS STRUCT COUNT(*) AS n FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  sex, COUNT(*) AS n, FROM patients GROUP BY sex;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = @eps, privacy_unit_column = patient_id)
  COUNT(*) AS n FROM patients;
SELECT `code` FROM `regions` AS r WHERE r.`population` > 5;
SELECT SAFE_DIVIDE(population, area) AS density, IFNULL(name, 'none') AS name, SAFE_CAST(code AS INT64) AS c FROM regions;
SELECT FORMAT_DATE('%Y-%m', founded) AS d FROM regions;
SELECT PARSE_DATE('%Y-%m-%d', '2024-01-05') AS d;
SELECT DATE_TRUNC(founded, MONTH) AS m, EXTRACT(ISOWEEK FROM founded) AS w, EXTRACT(DAYOFWEEK FROM founded) AS dow FROM regions;
SELECT TIMESTAMP_TRUNC(checked, HOUR) AS h, TIMESTAMP_DIFF(checked, checked, MINUTE) AS d, TIMESTAMP_ADD(checked, INTERVAL 1 HOUR) AS a FROM stations;
SELECT * EXCEPT (area, founded) FROM regions;
SELECT r.* EXCEPT (area) FROM regions AS r;
SELECT code FROM regions WHERE code IN UNNEST(['N', 'S']);
SELECT x FROM UNNEST(GENERATE_ARRAY(1, 3)) AS x;
SELECT CURRENT_DATE() AS today;
SELECT ARRAY_AGG(code) AS codes FROM regions;
SELECT APPROX_COUNT_DISTINCT(code) AS n FROM regions;
SELECT "text" AS t FROM regions WHERE code = "N";
SELECT STRUCT(1 AS a, 'b' AS b) AS s;
SELECT DATE(2024, 1, 31) AS d, LAST_DAY(DATE '2024-02-03') AS l, DATE_FROM_UNIX_DATE(5) AS u;
SELECT SAFE.LN(population) AS a FROM regions;
SELECT ROUND(height, 1) AS a, TRUNC(height) AS b, SIGN(height) AS c, POW(height, 2) AS d, SQRT(ABS(height)) AS e, IEEE_DIVIDE(height, 2) AS f FROM stations;
SELECT code FROM regions TABLESAMPLE SYSTEM (10 PERCENT);
SELECT DATETIME_TRUNC(checked, DAY) AS d FROM stations;
SELECT 1 AS one # a comment;
SELECT 0x1F AS hex, 1e3 AS e, NUMERIC '1.5' AS n, DATE "2024-01-05" AS d, TIMESTAMP '2024-01-05 10:00:00' AS t;
SELECT DATE_TRUNC(founded, WEEK) AS w, DATE_TRUNC(founded, WEEK(MONDAY)) AS m FROM regions;
SELECT IEEE_DIVIDE(height, 2) AS f FROM stations;
SELECT SAFE_DIVIDE(population, area) AS density FROM regions;
SELECT EXTRACT(DAYOFWEEK FROM founded) AS d FROM regions;

-- neither
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_groups_contributed = 0)
  ward, COUNT(*, contribution_bounds_per_group => (0, 10)) AS n
FROM visits GROUP BY ward;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, epsilon = 2, privacy_unit_column = patient_id)
  COUNT(*) FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilom = 1, privacy_unit_column = patient_id)
  COUNT(*) FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, k_threshold = 5, privacy_unit_column = patient_id)
  COUNT(*)
FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, kappa = 5, privacy_unit_column = patient_id)
  COUNT(*) FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = 'patient_id')
  COUNT(*) FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_rows_contributed = 5, max_groups_contributed = 2)
  COUNT(*) AS m
FROM calls;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, group_selection_strategy = SOME)
  region, COUNT(*)
FROM patients GROUP BY region;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, group_selection_strategy = PUBLIC_GROUPS, max_groups_contributed = 1)
  s, COUNT(*) AS n
FROM patients RIGHT JOIN UNNEST(['F', 'M', 'X']) AS s ON sex = s GROUP BY s;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  sex FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  COUNT(*) AS n FROM (SELECT age FROM patients);
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id, max_groups_contributed = 1)
  ward, SUM(minutes, contribution_bounds_per_group => (0, age)) AS m
FROM visits JOIN patients USING (patient_id) GROUP BY ward;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  SUM(age, (0, 100)) AS m FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  sex, COUNT(*) OVER () AS m FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) AS n FROM regions;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*);
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id)
  ANON_COUNT(*) FROM patients;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id,)
  sex, COUNT(*) AS n FROM patients GROUP BY sex;
SELECT r'a\b' AS s, "text" AS t, 'it''s' AS u;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, group_selection_strategy = PUBLIC_GROUPS)
  code, COUNT(*) AS n FROM patients RIGHT JOIN regions ON region = code GROUP BY code;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-7, group_selection_strategy = PUBLIC_GROUPS)
  code, COUNT(*) AS n FROM patients FULL JOIN (SELECT DISTINCT code FROM regions) ON region = code GROUP BY code;
