1|SELECT t1.ward, COUNT(*) FROM tests AS t0, visits AS t1 JOIN wards AS t2 ON t1.minutes = t2.floor WHERE t0.vid = t1.vid AND NOT EXISTS (SELECT 1 FROM wards AS t3 WHERE t3.floor = t2.floor AND t3.floor IN (0, 2)) GROUP BY 1
1|SELECT CLAMP((SELECT COUNT(*) FROM wards AS t4), 0, 2), COUNT(t2.level) FROM tests AS t2 GROUP BY 1
1|SELECT CLAMP((SELECT COUNT(*) FROM visits AS t4 WHERE t4.vid = t2.vid AND t4.urgent), 0, 2), COUNT(t2.level) FROM tests AS t2 GROUP BY 1
0|SELECT COUNT(*) FROM visits AS t1 JOIN wards AS t2 ON t1.ward = t2.ward WHERE (t2.floor >= (SELECT COALESCE(MAX(t3.floor), -1) FROM wards AS t3 WHERE t3.ward = t2.ward AND t3.ward IN ('b', 'c'))) IS NOT TRUE
0|SELECT COUNT(*) FROM visits AS t4 WHERE (SELECT COALESCE(SUM(t6.age), 0) FROM patients AS t6 WHERE t6.ward = t4.ward) = 0
0|SELECT COUNT(*) FROM patients AS t1 WHERE (SELECT COALESCE(MIN(t2.minutes), 7) FROM visits AS t2 WHERE t2.pid = t1.pid AND t2.urgent) = 7
0|SELECT COUNT(*) FROM patients AS t1 WHERE (SELECT COUNT(*) FROM codes AS t4) NOT IN (SELECT t3.minutes FROM visits AS t3 WHERE t3.minutes BETWEEN 0 AND 1 AND t1.pid = t3.pid)
0|SELECT COUNT(*) FROM patients AS t1 CROSS JOIN codes AS t2
0|SELECT COUNT(*) FROM visits AS t1 JOIN tests AS t2 USING (vid) WHERE t2.level <= (SELECT COUNT(t3.level) FROM tested AS t3 WHERE t3.vid = t2.vid)
0|SELECT COUNT(t2.pid), COUNT(t1.pid), COUNT(t3.pid) FROM adults AS t0 LEFT JOIN (patients AS t1 JOIN visits AS t2 USING (pid)) ON t0.pid = t1.pid AND t2.urgent LEFT JOIN visits AS t3 ON t3.pid = t0.pid AND t3.minutes = 4
0|SELECT COUNT(*) FROM patients AS t1 LEFT JOIN visits AS t2 ON t1.pid = t2.pid AND t2.minutes > (SELECT COUNT(*) FROM tests AS t3 WHERE t3.vid = t2.vid) WHERE (SELECT COUNT(*) FROM tests AS t3 WHERE t3.vid = t2.vid) = 0
0|SELECT COUNT(*) FROM patients AS t1 LEFT JOIN wards AS t2 ON t1.ward = t2.ward AND EXISTS (SELECT 1 FROM visits AS t3 WHERE t3.pid = t1.pid AND t3.urgent) WHERE t2.ward IS NULL
0|SELECT COUNT(*) FROM patients AS t1 FULL JOIN visits AS t2 ON t1.pid = t2.pid AND t1.age IN (SELECT t3.minutes FROM visits AS t3 WHERE t3.pid = t1.pid)
0|WITH w1 AS (SELECT COUNT(*) AS n FROM tests t1) SELECT COUNT(t2.minutes) FROM visits AS t2 WHERE ((t2.minutes >= ANY (SELECT (SELECT COUNT(*) + 1 FROM codes AS t4 WHERE t4.code = t3.n) FROM w1 AS t3) OR (t2.vid IS NOT NULL AND t2.minutes BETWEEN 0 AND 1)))
0|SELECT COUNT(*) FROM patients AS t0 WHERE (sex, smoker) IN (('a', TRUE), ('b', FALSE))
0|SELECT COUNT(*) FROM patients AS t0 WHERE (sex, age) NOT IN (('a', 1), ('b', 2)) AND sex IS NOT NULL AND age IS NOT NULL
0|SELECT COUNT(*) FROM patients AS t0 WHERE ((age, 'b') > (1, sex) OR (age, sex) <= (0, 'a')) AND sex IS NOT NULL AND age IS NOT NULL
0|SELECT COUNT(*) FROM visits AS t0 WHERE (ward, minutes) IN (SELECT t1.ward, t1.floor FROM wards AS t1)
0|SELECT COUNT(*) FROM visits AS t0 WHERE ((t0.minutes, t0.ward) NOT IN (SELECT t1.code, t1.label FROM codes AS t1)) IS NULL
0|SELECT COUNT(*) FROM patients AS t0 WHERE (t0.pid, t0.ward) NOT IN (SELECT pid, ward FROM visits)
0|SELECT COUNT(*) FROM patients p WHERE 1 < (SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid AND v.minutes > p.age)
0|SELECT COUNT(*) FROM patients p WHERE 0 = (SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid AND v.minutes > p.age)
0|SELECT COUNT(*) FROM visits p WHERE 1 <= (SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid AND v.minutes > p.minutes)
0|SELECT COUNT(*) FROM visits p WHERE p.minutes < (SELECT COUNT(*) FROM codes c WHERE c.code > p.minutes)
0|SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.pid AND v.minutes > p.age QUALIFY ROW_NUMBER() OVER (PARTITION BY v.pid ORDER BY v.minutes) = 2)
0|SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v JOIN tests t ON t.vid = v.vid AND v.pid = p.pid)
0|SELECT COUNT(*) FROM patients p, LATERAL (SELECT COUNT(*) AS n, MAX(v.minutes) AS m FROM visits v WHERE v.pid = p.pid) x WHERE x.n > 1 OR x.m IS NULL
0|SELECT COUNT(*) FROM patients p CROSS JOIN LATERAL (SELECT v.minutes FROM visits v WHERE v.pid = p.pid ORDER BY v.minutes DESC NULLS LAST LIMIT 1) x WHERE x.minutes > 1
0|SELECT COUNT(x.minutes) FROM patients p LEFT JOIN LATERAL (SELECT v.minutes FROM visits v WHERE v.pid = p.pid ORDER BY v.minutes DESC NULLS LAST, v.vid LIMIT 2 OFFSET 1) x ON x.minutes > 1
0|SELECT COUNT(*) FROM patients p LEFT JOIN LATERAL (SELECT v.minutes FROM visits v WHERE v.pid = p.pid AND v.minutes > p.age ORDER BY v.minutes DESC NULLS LAST LIMIT 1) x ON TRUE WHERE x.minutes IS NULL
0|SELECT COUNT(*) FROM patients p, LATERAL (SELECT p.age * 2 AS d) x WHERE x.d > 2
0|SELECT COUNT(*) FROM patients p, LATERAL (SELECT c.label FROM codes c WHERE c.code > p.age) x WHERE x.label = 'a'
0|SELECT COUNT(*) FROM patients p, LATERAL (SELECT DISTINCT c.label FROM codes c WHERE c.code >= p.age) x
0|SELECT COUNT(*) FROM patients p, LATERAL (SELECT c.label, COUNT(*) AS n FROM codes c WHERE c.code <= p.age GROUP BY c.label) x WHERE x.n > 1
0|SELECT COUNT(*) FROM patients p, visits w, LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE v.pid = p.pid AND v.minutes > w.minutes) x WHERE w.pid = p.pid AND x.n > 0 AND p.age > 0
0|SELECT COUNT(*) FROM patients p JOIN LATERAL (SELECT w.floor AS f FROM wards w WHERE w.ward = p.ward) x ON x.f > 0
0|SELECT COUNT(*) FROM patients p WHERE p.age IN (SELECT DISTINCT v.minutes FROM visits v WHERE v.pid = p.pid)
0|SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.pid AND EXISTS (SELECT 1 FROM tests t WHERE t.vid = v.vid AND t.level > p.age))
0|SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = p.ward AND EXISTS (SELECT 1 FROM codes c WHERE c.code = w.floor AND c.code < p.age))
0|SELECT COUNT(*) FROM patients p WHERE p.age < (SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid AND v.minutes >= (SELECT AVG(x.minutes) FROM visits x WHERE x.pid = p.pid))
0|SELECT COUNT(*) FROM patients p WHERE p.age < (SELECT MAX(v.minutes) + p.age FROM visits v WHERE v.pid = p.pid)
0|SELECT COUNT(*) FROM patients p WHERE 2 = (SELECT v.minutes FROM visits v WHERE v.pid = p.pid ORDER BY v.vid LIMIT 1)
0|SELECT COUNT(*) FROM patients p WHERE p.age > ALL (SELECT v.minutes + p.age FROM visits v WHERE v.pid = p.pid AND v.minutes < 1)
1|SELECT x.n, COUNT(*) FROM patients p, LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE v.pid = p.pid AND v.minutes > p.age) x GROUP BY x.n HAVING x.n BETWEEN 0 AND 1
0|SELECT COUNT(*) FROM patients p, LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE v.pid = p.pid HAVING COUNT(*) > p.age) x
0|SELECT COUNT(*) FROM patients p, LATERAL (SELECT v.minutes, v.vid FROM visits v WHERE v.pid = p.pid) x, LATERAL (SELECT COUNT(*) AS k FROM tests t WHERE t.vid = x.vid AND t.level < p.age) y WHERE y.k = 0
0|SELECT COUNT(*) FROM patients p, LATERAL (SELECT y.k FROM visits v, LATERAL (SELECT COUNT(*) AS k FROM tests t WHERE t.vid = v.vid) y WHERE v.pid = p.pid) z WHERE z.k > 0
1|SELECT ward, COUNT(*), (SELECT COUNT(*) FROM codes c WHERE c.label = t.ward) AS n FROM visits t GROUP BY ward HAVING COUNT(*) > 0
1|SELECT ward, COUNT(*), (SELECT COUNT(*) FROM codes c WHERE c.label >= t.ward) AS n FROM visits t GROUP BY ward HAVING COUNT(*) > 0
1|SELECT ward, COUNT(*), (SELECT MAX(c.floor) FROM wards c WHERE c.ward = t.ward) AS n FROM visits t GROUP BY ward HAVING COUNT(*) > 0
0|SELECT COUNT(*) FROM patients p WHERE p.age IN (SELECT w.floor FROM wards w WHERE w.floor = p.age OR w.ward = p.ward)
0|SELECT COUNT(*) FROM patients p WHERE p.age < (SELECT SUM(c.code) FROM wards w JOIN codes c ON c.label = p.ward AND c.label = w.ward)
0|SELECT COUNT(*) FROM patients p JOIN wards w ON w.ward = p.ward WHERE w.floor < (SELECT COUNT(*) FROM codes c WHERE c.code <= w.floor)
0|SELECT COUNT(*) FROM patients p WHERE 1 < (SELECT COUNT(DISTINCT v.ward) FROM visits v WHERE v.pid = p.pid AND v.minutes <> p.age)
0|SELECT COUNT(*) FROM adults p, LATERAL (SELECT s.minutes, ROW_NUMBER() OVER (PARTITION BY s.pid ORDER BY s.minutes, s.vid) AS k FROM stays s WHERE s.pid = p.pid AND s.minutes > p.age) x WHERE x.k = 1
0|SELECT COUNT(*) FROM patients p, LATERAL (SELECT n.total FROM per_patient n WHERE n.pid = p.pid AND n.n > p.age) x WHERE x.total > 0
0|SELECT COUNT(*) FROM visits p LEFT JOIN LATERAL (SELECT v.vid FROM visits v WHERE v.pid = p.pid AND v.vid > p.vid) x ON x.vid > 2 WHERE x.vid IS NULL
0|SELECT COUNT(*) FROM patients p JOIN visits v USING (pid) CROSS JOIN LATERAL (SELECT MAX(t.level) AS m FROM tests t WHERE t.vid = v.vid) x WHERE x.m >= age
0|SELECT COUNT(*) FROM (SELECT p.pid, x.n FROM patients p, LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE v.pid = p.pid AND v.minutes < p.age) x) y JOIN visits z ON z.pid = y.pid AND z.minutes = y.n
0|WITH y AS (SELECT p.pid, x.n FROM patients p, LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE v.pid = p.pid AND v.minutes < p.age) x) SELECT COUNT(*) FROM y a JOIN y b ON a.pid = b.pid WHERE a.n = b.n
0|SELECT COUNT(*) FROM patients p, LATERAL (SELECT w.floor FROM wards w WHERE w.ward = p.ward AND w.floor > (SELECT COUNT(*) FROM codes c WHERE c.code = w.floor)) x
0|SELECT COUNT(*) FROM patients p, LATERAL (SELECT (SELECT COUNT(*) FROM codes c WHERE c.code < w.floor) AS k FROM wards w WHERE w.ward = p.ward) x WHERE x.k > 1
0|SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.pid AND v.minutes > p.age LIMIT 1)
0|SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.pid AND v.minutes > p.age ORDER BY v.vid)
0|SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.pid GROUP BY v.ward HAVING COUNT(*) > p.age)
0|SELECT COUNT(*) FROM patients p WHERE p.sex || 'x' = (SELECT p.sex || 'x')
0|SELECT COUNT(*) FROM patients p WHERE 1 = (SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid AND (v.minutes = p.age OR v.ward = p.ward) AND v.vid IN (SELECT t.vid FROM tests t WHERE t.level <= p.age))
0|SELECT COUNT(*) FROM patients p WHERE 1 <= (SELECT COUNT(*) FROM visits v, tests t WHERE v.pid = p.pid AND t.vid = v.vid AND t.level < p.age AND v.minutes > t.level)
0|SELECT COUNT(*) FROM visits v, LATERAL (SELECT p.age FROM patients p WHERE p.pid = v.pid) x, LATERAL (SELECT x.age + v.minutes AS s) y WHERE y.s > 2
1|SELECT t0.job, COUNT(*), COUNT(DISTINCT t0.age), SUM(DISTINCT CLAMP(t0.age, 0, 3)) FROM patients AS t0 GROUP BY 1
1|SELECT t1.fee, COUNT(DISTINCT t1.ward), COUNT(DISTINCT t1.pid) FROM visits AS t1 GROUP BY t1.fee
1|SELECT t1.fee FROM visits AS t1 WHERE t1.urgent GROUP BY t1.fee
1|SELECT DISTINCT t0.job FROM patients AS t0 JOIN visits AS t1 USING (pid)
1|SELECT t0.job, COUNT(*), AVG(t1.minutes), COUNT(DISTINCT t1.pid) FROM visits AS t1 LEFT JOIN patients AS t0 ON t0.pid = t1.pid GROUP BY t0.job
1|SELECT t2.floor, SUM(t1.minutes) FROM visits AS t1 JOIN patients AS t0 ON t0.pid = t1.pid JOIN wards AS t2 ON t2.ward = t0.ward GROUP BY t2.floor
0|SELECT COUNT(*) FROM visits p, LATERAL (SELECT v.vid, ROW_NUMBER() OVER (PARTITION BY v.pid ORDER BY v.minutes NULLS LAST, v.vid) AS k FROM visits v WHERE v.pid = p.pid AND v.vid >= p.vid) x WHERE x.k = 2
0|SELECT COUNT(x.vid) FROM visits p, LATERAL (SELECT v.vid FROM visits v WHERE v.pid = p.pid AND v.vid >= p.vid ORDER BY v.vid LIMIT 1) x WHERE x.vid = p.vid
1|SELECT t.sex, COUNT(*), (SELECT COUNT(*) FROM visits v WHERE v.ward = t.sex) AS n FROM patients t GROUP BY t.sex HAVING COUNT(*) > 0 AND t.sex IS NOT NULL
0|SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = p.ward AND EXISTS (SELECT 1 FROM codes c WHERE c.code = w.floor))
1|SELECT x.m, COUNT(*) FROM visits v, LATERAL (SELECT MAX(t.kind) AS m FROM tests t WHERE t.vid = v.vid) x GROUP BY x.m HAVING COUNT(*) > 0
0|SELECT COUNT(*) FROM patients p, visits w, LATERAL (SELECT p.age + w.minutes AS s) x WHERE w.pid = p.pid AND p.age > 1 AND x.s > 1
0|SELECT COUNT(x) FROM (SELECT pid, LEAD((SELECT 1)) OVER (PARTITION BY pid ORDER BY vid) AS x FROM visits) AS t
0|SELECT SUM(CLAMP(x, 0, 9)) FROM (SELECT pid, MAX((SELECT MAX(w.floor) FROM wards AS w WHERE w.ward = v.ward)) OVER (PARTITION BY pid ORDER BY vid) AS x FROM visits AS v) AS t
0|SELECT SUM(CLAMP(x, 0, 9)) FROM (SELECT pid, minutes AS x FROM visits AS v ⟦ORDER BY¦QUALIFY row_number() OVER (PARTITION BY pid ORDER BY⟧ (SELECT MAX(w.floor) FROM wards AS w WHERE w.ward = v.ward), vid ⟦LIMIT 1 PER UNIT¦) = 1⟧) AS t
2|SELECT job, GROUPING(job), COUNT(*) FROM patients WHERE age > 9 GROUP BY ROLLUP (job)
1|SELECT fee, COUNT(DISTINCT ward) FROM visits GROUP BY 1
1|SELECT fee, COUNT(DISTINCT ward) FILTER (WHERE minutes > 2) FROM visits GROUP BY 1
1|WITH w AS (SELECT COUNT(*) AS n FROM visits) SELECT t.fee, AVG(DISTINCT CLAMP(t.minutes, -2, 2)) FROM visits AS t GROUP BY 1
0|SELECT COUNT(*) FROM (SELECT vid, t2.minutes FROM tests AS t1 FULL JOIN visits AS t2 USING (vid) GROUP BY vid, t2.minutes) AS t
0|SELECT COUNT(*) FROM (SELECT pid, age FROM patients NATURAL FULL JOIN visits GROUP BY pid, age) AS t
0|WITH w1 AS (⟦SELECT t1.ward AS g, COALESCE(SUM(t1.minutes), 0) AS n FROM visits t1 GROUP BY 1¦SELECT k.g, COALESCE(i.n, 0) AS n FROM (VALUES ('a'), ('b'), ('c'), (NULL)) k(g) LEFT JOIN (SELECT t1.ward AS g, SUM(t1.minutes) AS n FROM visits t1 GROUP BY 1) i ON i.g IS NOT DISTINCT FROM k.g⟧), w2 AS (SELECT t4.pid AS k, COUNT(*) AS x1 FROM visits AS t4 GROUP BY t4.pid) SELECT COUNT(*) FROM per_patient AS t8 WHERE ((SELECT COALESCE(SUM(t11.floor), 0) FROM wards AS t11 WHERE 1 = (SELECT COUNT(*) FROM wards AS t13 WHERE t13.floor <> ALL (SELECT t14.n FROM w1 AS t14) AND t13.floor = t11.floor)) IN (SELECT t10.x1 FROM w2 AS t10 WHERE t8.pid = t10.k AND t10.x1 > t8.n - 1))
0|WITH w1 AS (⟦SELECT t1.ward AS g, COALESCE(SUM(t1.minutes), 0) AS n FROM visits t1 GROUP BY 1¦SELECT k.g, COALESCE(i.n, 0) AS n FROM (VALUES ('a'), ('b'), ('c'), (NULL)) k(g) LEFT JOIN (SELECT t1.ward AS g, SUM(t1.minutes) AS n FROM visits t1 GROUP BY 1) i ON i.g IS NOT DISTINCT FROM k.g⟧) SELECT COUNT(*) FROM per_patient AS t8 WHERE (SELECT COALESCE(SUM(t11.floor), 0) FROM wards AS t11 WHERE 1 = (SELECT COUNT(*) FROM wards AS t13 WHERE t13.floor <> ALL (SELECT t14.n FROM w1 AS t14) AND t13.floor = t11.floor)) = 3
0|SELECT COUNT(*) FROM per_patient AS t8 WHERE (SELECT COALESCE(SUM(t11.floor), 0) FROM wards AS t11 WHERE 1 = (SELECT COUNT(*) FROM wards AS t13 WHERE t13.floor <> ALL (SELECT COUNT(*) FROM visits t1 WHERE t1.ward = 'a') AND t13.floor = t11.floor)) = 3
0|SELECT COUNT(*) FROM patients a1 WHERE 1 > (SELECT COUNT(*) FROM wards a2 WHERE a2.floor < (SELECT COUNT(*) FROM visits a3 WHERE a3.pid = a1.pid AND a3.minutes <= a2.floor))
0|SELECT COUNT(*) FROM visits a1 WHERE a1.minutes <> (SELECT COUNT(*) FROM patients a2 WHERE a2.pid = a1.pid AND 2 = ANY (SELECT a3.floor + a1.minutes FROM wards a3))
0|SELECT COUNT(*) FROM patients p WHERE p.age < (SELECT SUM(w.floor) FROM wards w WHERE w.floor <= p.age AND 1 <= (SELECT COUNT(*) FROM codes c WHERE c.code <= w.floor AND 1 <= (SELECT COUNT(*) FROM codes d WHERE d.code < w.floor AND d.code <= c.code)))
0|SELECT COUNT(*) FROM patients p WHERE p.age > (SELECT COUNT(DISTINCT w.floor) FROM wards w WHERE 0 < (SELECT SUM(c.code) FROM codes c WHERE c.code < w.floor))
0|SELECT COUNT(*) FROM patients p WHERE p.age > ANY (SELECT (SELECT COUNT(*) FROM codes c WHERE c.code < w.floor) + p.age - 2 FROM wards w)
0|SELECT COUNT(*) FROM patients p WHERE p.age IN (SELECT x.k FROM wards w, LATERAL (SELECT COUNT(*) AS k FROM codes c WHERE c.code <= w.floor) x WHERE x.k > p.age - 2)
0|SELECT COUNT(*) FROM patients p WHERE p.age IN (SELECT x.k FROM wards w, LATERAL (SELECT c.code AS k FROM codes c WHERE c.code = w.floor UNION ALL SELECT w.floor) x)
0|SELECT COUNT(*) FROM patients p WHERE p.age < (SELECT SUM(w.floor) FROM wards w WHERE w.floor <= p.age AND 1 <= (SELECT COUNT(*) FROM codes c WHERE c.code <= 1 AND 1 <= (SELECT COUNT(*) FROM codes d WHERE d.code < w.floor)))
0|SELECT COUNT(*) FROM patients p WHERE p.age < (SELECT SUM(w.floor) FROM wards w WHERE w.floor <= p.age AND EXISTS (SELECT 1 FROM codes c WHERE c.code <= 1 AND EXISTS (SELECT 1 FROM codes d WHERE d.code = w.floor)))
0|SELECT COUNT(*) FROM patients p WHERE p.age <= (SELECT COUNT(*) FROM codes c WHERE c.code <> (SELECT COALESCE(SUM(v.minutes), 0) FROM visits v WHERE v.ward <> 'a' AND v.ward = c.label))
1|SELECT w.ward, (SELECT COUNT(*) FROM visits v WHERE v.ward <> 'a' AND v.ward = w.ward) FROM wards w
1|SELECT p.job, COUNT(*), AVG(CLAMP((SELECT AVG(v.minutes) FROM visits v), -2, 20)) FROM patients p GROUP BY p.job
1|SELECT t.x <> 1, COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY p.pid ORDER BY w.floor) AS x FROM patients AS p LEFT JOIN wards AS w ON w.ward = w.ward) AS t GROUP BY 1
0|SELECT COUNT(*) FROM patients p WHERE 0 IN (SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid AND v.minutes > 2)
0|SELECT COUNT(*) FROM patients p WHERE 3 NOT IN (SELECT SUM(v.minutes) FROM visits v WHERE v.pid = p.pid AND v.minutes > 2)
0|SELECT COUNT(*) FROM patients p WHERE 0 = (SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid AND v.minutes > 2 HAVING COUNT(*) < 2)
0|SELECT COUNT(*), SUM((SELECT SUM(v.minutes) FROM visits v WHERE v.pid = p.pid HAVING COUNT(*) < 2)) FROM patients p
1|SELECT (SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid AND v.minutes > 2 HAVING COUNT(*) < 1) IS NULL, COUNT(*) FROM patients p GROUP BY 1
0|SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT MAX(v.minutes) FROM visits v WHERE v.pid = p.pid AND v.minutes > 2)
0|SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.pid AND v.minutes > 2 HAVING COUNT(*) = 0)
0|SELECT COUNT(*) FROM patients p WHERE 3 NOT IN (SELECT SUM(v.minutes) FROM visits v WHERE v.pid = p.pid AND v.minutes > 2 HAVING COUNT(*) >= 0)
0|SELECT COUNT(*) FROM patients p WHERE p.age NOT IN (SELECT MAX(w.floor) FROM wards w WHERE w.ward = p.ward HAVING TRUE)
0|SELECT SUM(CASE WHEN p.age > 2 THEN CASE WHEN p.age IN (SELECT COUNT(*) - 2 FROM visits v WHERE v.pid = p.pid) THEN 1 ELSE 2 END WHEN p.age IN (SELECT COUNT(*) - 2 FROM visits v WHERE v.pid = p.pid) THEN 7 ELSE 3 END) FROM patients p
