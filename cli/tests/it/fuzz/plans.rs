//! Plans of campaigns, and everything that is made of one before the first run.

use slob_campaign::{Campaign, Plan};
use slob_spec::Settings;

use super::conf::table;
use super::damage::{self, Random, odd};
use super::each;

const PLAN: &str = include_str!("../../../../crates/campaign/src/plan/whole.toml");
const NEIGHBOURS: &str = r#"
together = [["a", "b"]]
settings = { RUN_TIME = 3 }
[[neighbour]]
name = "a"
target = "sqlite:./a"
[[neighbour]]
name = "b"
target = "sqlite:./b"
settings = { RATE = 25 }
"#;
const WORDS: &[&str] =
    &["[", "]", "[[variant]]\n", "{", "}", "=", "\"", "\"\"\"", "\n", "a.b.c = 1\n", "1979-05-27", "inf"];

/// The plan with one to three values exchanged for others that still are values.
fn other_values(plan: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = plan.lines().map(str::to_owned).collect();
    for _ in 0..=random.index(3) {
        let at = random.index(lines.len());
        let Some((key, _)) = lines[at].split_once(" = ") else { continue };
        let odd = odd(random);
        let quoted = if random.one_in(2) { (*odd).to_owned() } else { format!("{odd:?}") };
        lines[at] = match random.index(4) {
            0 => format!("{key} = [{quoted}, {quoted}]"),
            _ => format!("{key} = {quoted}"),
        };
    }
    lines.join("\n")
}

#[test]
fn damaged_plans_do_no_harm() {
    let table = table();
    let base = Settings::resolve(&table, None, &[], &[]).unwrap().settings;
    each("plans", 200, 256, |random| {
        let plan = *random.of_these(&[PLAN, NEIGHBOURS]);
        let text = match random.one_in(2) {
            true => damage::text(plan, WORDS, random),
            false => other_values(plan, random),
        };
        let plan = match Plan::parse("plan.toml", &text) {
            Ok(plan) => plan,
            Err(errors) => return assert!(!errors.to_string().is_empty()),
        };
        let campaign = match Campaign::build(plan, &base, &table) {
            Ok(campaign) => campaign,
            Err(errors) => return assert!(!errors.to_string().is_empty()),
        };
        let steps = &campaign.schedule.steps;
        let _ = campaign.planned_time(steps);
        campaign.members(&steps[0], "a folder".as_ref()).unwrap();
        drop(campaign.schedule.differences(&campaign.schedule));
        serde_json::to_string(&campaign.schedule).unwrap();
    });
}
