//! The runs of a plan in their order: rounds of all variants, or variant by variant.

use crate::order::Order;
use crate::plan::Plan;
use crate::schedule::Step;
use crate::shuffle::Chance;

/// The steps of a plan in order.
pub(crate) fn steps(plan: &Plan) -> Vec<Step> {
    match plan.order {
        Order::Interleaved => interleaved(plan),
        Order::Blocked => blocked(plan),
    }
}

/// Where a switch costs something (a hook, runs to throw away), a round takes its variants one after the other, in an
/// order that is drawn anew for each round. Where it costs nothing, the variants of a cell run side by side in time.
fn interleaved(plan: &Plan) -> Vec<Step> {
    let mut chance = Chance::new(plan.seed);
    let switching_costs =
        plan.warmup_runs > 0 || plan.variants.iter().any(|variant| variant.hooks.bounce.is_some());
    let mut steps = Vec::new();
    for repeat in 1..=plan.repeats.get() {
        let mut cells = cells(plan);
        let mut variants: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
        chance.shuffle(&mut variants);
        if switching_costs {
            for variant in variants {
                chance.shuffle(&mut cells);
                steps.extend(cells.iter().map(|cell| Step {
                    variant: variant.to_owned(),
                    repeat,
                    ..cell.clone()
                }));
            }
        } else {
            chance.shuffle(&mut cells);
            for cell in cells {
                chance.shuffle(&mut variants);
                let step = |variant: &&str| Step { variant: (*variant).to_owned(), repeat, ..cell.clone() };
                steps.extend(variants.iter().map(step));
            }
        }
    }
    steps
}

fn blocked(plan: &Plan) -> Vec<Step> {
    let mut steps = Vec::new();
    for variant in &plan.variants {
        for cell in cells(plan) {
            let step = |repeat| Step { variant: variant.name.clone(), repeat, ..cell.clone() };
            steps.extend((1..=plan.repeats.get()).map(step));
        }
    }
    steps
}

/// Every model with every number of sessions, of no variant yet.
fn cells(plan: &Plan) -> Vec<Step> {
    let of = |model: &str| -> Vec<Step> {
        let cell = |sessions| Step { variant: String::new(), model: model.to_owned(), sessions, repeat: 0 };
        match plan.demand {
            Some(_) => vec![cell(None)],
            None => plan.sessions.iter().copied().map(Some).map(cell).collect(),
        }
    };
    plan.models.iter().flat_map(|model| of(&model.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn plan(more: &str) -> Plan {
        let text = format!(
            "sessions = [1, 2, 4]\nmodels = [\"read\", \"redo\"]\nrepeats = 5\n{more}\n[[variant]]\nname = \"a\"\n\
             [[variant]]\nname = \"b\"\n[[variant]]\nname = \"c\"\n"
        );
        Plan::parse("plan.toml", &text).unwrap()
    }

    #[test]
    fn a_round_holds_every_cell_of_every_variant_once() {
        for more in ["", "warmup_runs = 1"] {
            let plan = plan(more);
            let steps = steps(&plan);
            assert_eq!(steps.len(), 3 * 2 * 3 * 5);
            for (round, steps) in steps.chunks(18).enumerate() {
                assert!(steps.iter().all(|step| step.repeat as usize == round + 1));
                assert_eq!(steps.iter().map(Step::key).collect::<BTreeSet<_>>().len(), 18);
            }
        }
    }

    #[test]
    fn variants_stand_side_by_side_unless_a_switch_costs_something() {
        let switches =
            |steps: &[Step]| steps.windows(2).filter(|pair| pair[0].variant != pair[1].variant).count();
        let side_by_side = steps(&plan(""));
        for cell in side_by_side.chunks(3) {
            assert_eq!(cell.iter().map(|step| &step.variant).collect::<BTreeSet<_>>().len(), 3);
            assert!(cell.iter().all(|step| step.model == cell[0].model && step.sessions == cell[0].sessions));
        }
        // Five rounds of three variants: at most fourteen switches, two rounds may meet in the same variant.
        assert!(switches(&steps(&plan("warmup_runs = 1"))) <= 14);
        assert_eq!(switches(&steps(&plan("order = \"blocked\""))), 2);
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(steps(&plan("seed = 5")), steps(&plan("seed = 5")));
        assert_ne!(steps(&plan("seed = 5")), steps(&plan("seed = 6")));
    }
}
