CREATE TABLE IF NOT EXISTS slob_runs (
  id VARCHAR(190) NOT NULL PRIMARY KEY,
  digest VARCHAR(64) NOT NULL,
  name VARCHAR(190) NOT NULL,
  campaign VARCHAR(190),
  target {text} NOT NULL,
  product {text} NOT NULL,
  slob_version VARCHAR(64) NOT NULL,
  status VARCHAR(32) NOT NULL,
  started VARCHAR(40) NOT NULL,
  started_s DOUBLE PRECISION NOT NULL,
  ended VARCHAR(40) NOT NULL,
  host {text},
  device {text},
  record {text} NOT NULL,
  signature {text}
){end};
CREATE TABLE IF NOT EXISTS slob_figures (
  run VARCHAR(190) NOT NULL,
  name VARCHAR(64) NOT NULL,
  unit VARCHAR(32) NOT NULL,
  value DOUBLE PRECISION NOT NULL,
  forbidden_by VARCHAR(32),
  PRIMARY KEY (run, name),
  FOREIGN KEY (run) REFERENCES slob_runs (id)
){end};
CREATE TABLE IF NOT EXISTS slob_verdicts (
  run VARCHAR(190) NOT NULL,
  question VARCHAR(32) NOT NULL,
  answer VARCHAR(16) NOT NULL,
  finding VARCHAR(64) NOT NULL,
  sentence {text} NOT NULL,
  PRIMARY KEY (run, question),
  FOREIGN KEY (run) REFERENCES slob_runs (id)
){end};
CREATE TABLE IF NOT EXISTS slob_series (
  run VARCHAR(190) NOT NULL,
  at_s BIGINT NOT NULL,
  seconds BIGINT NOT NULL,
  operations BIGINT NOT NULL,
  p50_us DOUBLE PRECISION,
  p99_us DOUBLE PRECISION,
  physical_reads BIGINT,
  logical_reads BIGINT,
  redo_bytes BIGINT,
  PRIMARY KEY (run, at_s),
  FOREIGN KEY (run) REFERENCES slob_runs (id)
){end};
CREATE TABLE IF NOT EXISTS slob_histograms (
  run VARCHAR(190) NOT NULL,
  operation VARCHAR(32) NOT NULL,
  from_ns BIGINT NOT NULL,
  to_ns BIGINT NOT NULL,
  operations BIGINT NOT NULL,
  PRIMARY KEY (run, operation, from_ns),
  FOREIGN KEY (run) REFERENCES slob_runs (id)
){end};
CREATE TABLE IF NOT EXISTS slob_settings (
  run VARCHAR(190) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  name VARCHAR(190) NOT NULL,
  value {text} NOT NULL,
  PRIMARY KEY (run, kind, name),
  FOREIGN KEY (run) REFERENCES slob_runs (id)
){end};
DROP VIEW IF EXISTS slob_overview;
CREATE VIEW slob_overview AS
SELECT r.id, r.name, r.campaign, r.target, r.product, r.status, r.started, r.started_s, r.host, r.device, r.digest,
  MAX(CASE WHEN f.name = 'sessions' THEN f.value END) AS sessions,
  MAX(CASE WHEN f.name = 'physical_reads_per_s' AND f.forbidden_by IS NULL THEN f.value END) AS physical_reads_per_s,
  MAX(CASE WHEN f.name = 'physical_read_p99_us' AND f.forbidden_by IS NULL THEN f.value END) AS physical_read_p99_us,
  MAX(CASE WHEN f.name = 'operations_per_s' AND f.forbidden_by IS NULL THEN f.value END) AS operations_per_s,
  MAX(CASE WHEN f.name = 'response_p99_us' AND f.forbidden_by IS NULL THEN f.value END) AS response_p99_us,
  MAX(CASE WHEN f.name = 'physical_reads_per_db_cpu_s' AND f.forbidden_by IS NULL THEN f.value END) AS physical_reads_per_db_cpu_s,
  MAX(CASE WHEN f.name = 'redo_mb_per_s' AND f.forbidden_by IS NULL THEN f.value END) AS redo_mb_per_s,
  (SELECT COUNT(*) FROM slob_verdicts v WHERE v.run = r.id AND v.answer = 'BAD') AS bad_verdicts
FROM slob_runs r LEFT JOIN slob_figures f ON f.run = r.id
GROUP BY r.id, r.name, r.campaign, r.target, r.product, r.status, r.started, r.started_s, r.host, r.device, r.digest;
