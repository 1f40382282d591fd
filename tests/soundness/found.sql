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
