//! Saved profiles, and everything that is made of one: its summary, its demand, a plan.

use slob_demand::{At, By, Choice, Costs, Limits, Profile, Summary, compare, not_modelled, solve};
use slob_report::profiles::{profile_page, profile_text};

use super::damage::{self, Random};
use super::each;

const PROFILE: &str = r#"{
  "profile_version": 1, "slob_version": "0.1.0", "source": "reports",
  "subject": {"name": "PROD", "id": "7", "version": "19.0.0.0.0", "block_bytes": 8192, "cpus": 8},
  "intervals": [
    {"source": "a", "instance": "1", "begin": "2026-11-20T10:00:00", "seconds": 3600.0,
     "figures": {"logical_reads_per_s": 1e5, "physical_read_requests_per_s": 1700, "commits_per_s": 41, "redo_bytes_per_s": 3e6,
                 "db_time_per_s": 4.5, "single_block_read_us": 5100, "commit_wait_us": 900},
     "histograms": {"read": [{"from_us": 0, "to_us": 8, "waits": 7}, {"from_us": 8, "waits": 3}]}},
    {"source": "b", "instance": "2", "begin": "2026-11-20T10:00:07", "seconds": 3593.0,
     "figures": {"logical_reads_per_s": 2e5, "physical_read_requests_per_s": 700, "commits_per_s": 11}},
    {"source": "c", "begin": "2026-11-20T11:00:00", "seconds": 3600.0,
     "figures": {"logical_reads_per_s": 3e5, "physical_read_blocks_per_s": 900, "physical_write_blocks_per_s": 41}}
  ],
  "left_out": [{"source": "d", "begin": "2026-11-20T12:00:00", "why": "a counter wrapped"}]
}"#;
const WORDS: &str =
    "-1~1e308~-1e308~0~null~[]~{}~\"~9999-12-31T23:59:59~-9999-01-01T00:00:00~1e-300~18446744073709551616";
/// Some of the values above.
const OLD: &str = "3600.0 1700 41 3e6 8192 2026-11-20T10:00:07 \"2\" 5100 2026-11-20T11:00:00";

fn other_values(words: &[&str], random: &mut Random) -> String {
    let (mut text, old) = (PROFILE.to_owned(), OLD.split(' ').collect::<Vec<_>>());
    for _ in 0..=random.index(3) {
        text = text.replacen(*random.of_these(&old), random.of_these::<&str>(words), 1);
    }
    text
}

#[test]
fn damaged_profiles_do_no_harm() {
    let words: Vec<&str> = WORDS.split('~').collect();
    each("profiles", 300, 256, |random| {
        let text = match random.one_in(2) {
            true => damage::text(PROFILE, &words, random),
            false => other_values(&words, random),
        };
        let Ok(profile) = Profile::read(text.as_bytes()) else { return };
        let _ = (Summary::of(&profile), profile_text(&profile, None));
        if random.one_in(8) {
            let _ = profile_page(std::slice::from_ref(&profile));
        }
        let by = By::ALL[random.index(By::ALL.len())];
        let at = [At::Peak, At::P95, At::Median][random.index(3)];
        let Ok(demand) = profile.demand(&Choice { at, by, ..Choice::default() }) else { return };
        let _ = not_modelled(&demand.figures, profile.subject.block_bytes);
        let limits = Limits {
            schemas: 4,
            scan_blocks: 128,
            scale_blocks: 4096,
            most_sessions: 64,
            hot_mb: 2,
            hot_blocks: 256,
        };
        let planned = solve(&demand, &Costs::default(), &limits);
        let _ = compare(&demand, &planned, None, &Costs::default());
        assert!(planned.parameters.rate > 0 && planned.parameters.update_pct <= 100.0);
    });
}
