CREATE TABLE IF NOT EXISTS slob_folders (
  folder VARCHAR(190) NOT NULL,
  run VARCHAR(190) NOT NULL,
  PRIMARY KEY (folder, run),
  FOREIGN KEY (run) REFERENCES slob_runs (id)
){end};
INSERT INTO slob_folders (folder, run)
SELECT r.campaign, r.id FROM slob_runs r
WHERE r.campaign IS NOT NULL AND NOT EXISTS (SELECT 1 FROM slob_folders f WHERE f.folder = r.campaign AND f.run = r.id);
CREATE TABLE IF NOT EXISTS slob_campaigns (
  folder VARCHAR(190) NOT NULL PRIMARY KEY,
  plan {text} NOT NULL,
  state {text} NOT NULL
){end};
