//! Keys of a plan that mean nothing, with those that may have been meant.

use toml::{Table, Value};

use super::raw::{DEMAND_KEYS, HOOK_KEYS, MODEL_KEYS, PLAN_KEYS, VARIANT_KEYS};
use crate::error::PlanError;

/// How alike two keys must be (0 to 1) for one to be offered in place of the other.
const ALIKE: f64 = 0.6;
const HOOKS: [&str; 4] = ["prepare", "bounce", "before_run", "after_run"];

/// Every unknown key. The keys of settings are the parameters', which the table of parameters knows.
pub(super) fn unknown(plan: &Table, file: &str) -> Vec<PlanError> {
    let mut errors = unknown_of(plan, PLAN_KEYS, file);
    if let Some(Value::Table(demand)) = plan.get("demand") {
        errors.extend(unknown_of(demand, DEMAND_KEYS, &format!("{file}, demand")));
    }
    for (index, variant) in tables(plan, "variant").enumerate() {
        let place = format!("{file}, variant {}", named(variant, index));
        errors.extend(unknown_of(variant, VARIANT_KEYS, &place));
        for hook in HOOKS {
            if let Some(Value::Table(table)) = variant.get(hook) {
                errors.extend(unknown_of(table, HOOK_KEYS, &format!("{place}, {hook}")));
            }
        }
    }
    for (index, model) in tables(plan, "model").enumerate() {
        errors.extend(unknown_of(model, MODEL_KEYS, &format!("{file}, model {}", named(model, index))));
    }
    errors
}

fn tables<'a>(plan: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> {
    plan.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table)
}

fn named(table: &Table, index: usize) -> String {
    table
        .get("name")
        .and_then(Value::as_str)
        .map_or_else(|| (index + 1).to_string(), |name| format!("'{name}'"))
}

fn unknown_of(table: &Table, known: &[&str], place: &str) -> Vec<PlanError> {
    let unknown = table.keys().filter(|key| !known.contains(&key.as_str()));
    let error = |key: &String| PlanError::UnknownKey {
        place: place.to_owned(),
        key: key.clone(),
        nearest: nearest(key, known),
    };
    unknown.map(error).collect()
}

fn nearest(key: &str, known: &[&str]) -> Option<String> {
    let alike = |name: &&&str| strsim::jaro_winkler(&key.to_lowercase(), name);
    let best = known.iter().max_by(|a, b| alike(a).total_cmp(&alike(b)))?;
    // A parameter at the top is a common slip: it belongs into the settings.
    if key.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_') {
        return Some(format!("settings.{key}"));
    }
    (alike(&best) >= ALIKE).then(|| (*best).to_owned())
}
