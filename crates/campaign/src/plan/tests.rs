use rstest::rstest;

use super::*;

const WHOLE: &str = include_str!("whole.toml");

#[test]
fn every_key_of_a_plan_is_read() {
    let plan = Plan::parse("plan.toml", WHOLE).unwrap();
    assert_eq!((plan.name.as_str(), plan.order, plan.seed), ("file-systems", Order::Blocked, 7));
    assert_eq!((plan.repeats.get(), plan.warmup_runs, plan.retries), (10, 1, 2));
    let names: Vec<_> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["xfs", "raw", "raw.again"]);
    assert_eq!(plan.variants[2].twin_of.as_deref(), Some("raw"));
    assert_eq!(plan.variants[2].settings, plan.variants[1].settings);
    let timeouts: Vec<u64> =
        Moment::VARIANTS.iter().map(|moment| plan.variants[0].hooks[moment].timeout.as_secs()).collect();
    assert_eq!(timeouts, [900, 600, 600, 5]);
    let metrics: Vec<_> = plan.models.iter().map(|model| model.metric.as_str()).collect();
    assert_eq!(metrics, ["reads", "redo", "operations_per_s"]);
    assert_eq!(plan.sessions.iter().map(ToString::to_string).collect::<Vec<_>>(), ["8x1", "2x4"]);
    let text = |key: &str| plan.settings.iter().find(|(name, _)| name == key).map(|(_, text)| text.as_str());
    assert_eq!(text("DO_HOTSPOT"), Some("FALSE"));
    assert_eq!(text("THINK_TM_MAX"), Some("0.5"));
    assert_eq!(text("RUN_TIME"), Some("300"));
}

/// A plan is refused once `right` in it is `wrong`.
fn assert_refused(file: &str, [plan, right, wrong]: [&str; 3], expected: &str) {
    assert!(plan.contains(right), "{right}");
    let error = Plan::parse(file, &plan.replacen(right, wrong, 1)).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[rstest]
#[case("repeats = 10", "repeat = 10", "did you mean repeats?")]
#[case("bounce = ", "bounse = ", "variant 'xfs': there is no key 'bounse'; did you mean bounce?")]
#[case("timeout = \"15m\"", "timeot = \"15m\"", "did you mean timeout?")]
#[case("metric = ", "RUN_TIME = ", "a parameter belongs in settings: settings.RUN_TIME")]
#[case("metric = ", "run_time = ", "a parameter belongs in settings: settings.RUN_TIME")]
#[case("metric = ", "baseline = ", "there is no key 'baseline'; it belongs at the top of the plan")]
#[case("timeout = 5", "timeout = \"soon\"", "timeout is 'soon'; it must be 1 to")]
#[case("\"2x4\"", "\"2x0\"", "sessions is '2x0'")]
#[case("\"2x4\"", "8", "two session counts called '8'")]
#[case("\"redo\"", "\"rodo\"", "there is no model 'rodo'; there are half, read, redo, write, read-write")]
#[case("baseline = \"raw\"", "baseline = \"row\"", "there is no variant 'row'; there are xfs, raw")]
#[case("name = \"raw\"", "name = \"xfs\"", "two variants called 'xfs'")]
#[case("name = \"xfs\"", "name = \"x/s\"", "name is 'x/s'; it must be")]
#[case("RUN_TIME = 300", "SCHEMAS = 3", "SCHEMAS is decided by the campaign (`sessions`)")]
#[case("TABLESPACE = \"raw\"", "UPDATE_PCT = 5", "UPDATE_PCT is set by variant 'raw' and by model 'read'")]
#[case("repeats = 10", "repeats = 0", "repeats is '0'; it must be 1 or more")]
#[case("bounce = \"restart\"", "bounce = []", "a line for the shell, or a list of a program")]
#[case("run = \"look\"", "run = \" \"", "a line for the shell, or a list of a program")]
#[case("repeats = 10", "repeats = 4294967295", "77309411310 runs; at most 10000 are possible")]
#[case("warmup_runs = 1", "warmup_runs = 101", "warmup_runs is '101'; it must be 0 to 100")]
#[case("retries = 2", "retries = 4294967295", "retries is '4294967295'; it must be 0 to 100")]
#[case("order = \"blocked\"", "order = \"random\"", "unknown variant")]
#[case("[[variant]]\nname = \"xfs\"", "[[variant]]", "missing field `name`")]
fn a_bad_plan_is_refused_with_its_reason(#[case] right: &str, #[case] wrong: &str, #[case] expected: &str) {
    assert_refused("plan.toml", [WHOLE, right, wrong], expected);
}

#[test]
fn a_hook_runs_a_program_without_a_shell() {
    let plan = WHOLE.replacen("bounce = \"restart\"", "bounce = [\"restart\", \"a b\"]", 1).replacen(
        "run = \"look\"",
        "run = [\"look\", \"$HOME\"]",
        1,
    );
    let plan = Plan::parse("plan.toml", &plan).unwrap();
    let shown = |moment| plan.variants[0].hooks[&moment].command.to_string();
    assert_eq!(
        (shown(Moment::Bounce).as_str(), shown(Moment::AfterRun).as_str()),
        ("restart \"a b\"", "look $HOME")
    );
    assert_eq!(plan.variants[0].hooks[&Moment::AfterRun].timeout.as_secs(), 5);
}

#[test]
fn defaults_fill_a_short_plan() {
    let plan = Plan::parse("p", "[[variant]]\nname = \"a\"\n").unwrap();
    assert_eq!((plan.repeats.get(), plan.order, plan.baseline.as_str()), (3, Order::Interleaved, "a"));
    assert_eq!((plan.models[0].name.as_str(), plan.sessions[0].total()), ("read", 1));
    let none = Plan::parse("p", "").unwrap_err().to_string();
    assert!(none.contains("there is no variant; write [[variant]]"), "{none}");
}

const DEMAND: &str = "repeats = 4\nnoise = true\n\
    demand = { profile = \"p.json\", at = \"p95\", grow = 2, limits = [\"read-p99=2ms\"], most = 8, repeats = 1 }\n\
    [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nsettings = { SCHEMAS = 2 }\n";

#[test]
fn with_a_demand_each_step_is_a_search() {
    let plan = Plan::parse("p", DEMAND).unwrap();
    let demand = plan.demand.as_ref().unwrap();
    assert_eq!((demand.at.as_str(), demand.grow, demand.most, demand.repeats), ("p95", 2.0, 8.0, 1));
    assert_eq!(demand.limits[0].to_string(), "read-p99=2ms");
    let steps = crate::schedule::steps(&plan);
    assert_eq!(steps.len(), 3 * 4);
    let first = steps.iter().find(|step| step.variant == "a" && step.repeat == 1).unwrap();
    assert_eq!((first.key().as_str(), first.run_name().as_str()), ("a/headroom/1", "a-headroom-r1"));
    let short = Plan::parse("p", "demand = \"p.json\"\n[[variant]]\nname = \"a\"\n").unwrap();
    assert_eq!(short.demand.unwrap().repeats, 3);
}

#[rstest]
#[case("repeats = 4", "sessions = [1]", "`sessions` and `demand` contradict each other")]
#[case("repeats = 4", "models = [\"read\"]", "`models` and `demand` contradict each other")]
#[case("repeats = 4", "warmup_runs = 1", "`warmup_runs` and `demand` contradict each other")]
#[case("SCHEMAS = 2", "RATE = 5", "RATE is decided by the campaign (`demand`)")]
#[case("read-p99=2ms", "reed=2ms", "'reed=2ms' is not a limit")]
#[case("grow = 2", "grew = 2", "p, demand: there is no key 'grew'; did you mean grow?")]
#[case("profile = \"p.json\", ", "", "demand has no `profile`")]
#[case("most = 8", "most = 0.5", "most is '0.5'; it must be 1 to")]
fn keys_that_contradict_a_demand_are_refused(
    #[case] right: &str,
    #[case] wrong: &str,
    #[case] expected: &str,
) {
    assert_refused("p", [DEMAND, right, wrong], expected);
}

#[test]
fn half_of_the_sessions_of_read_write_are_writers() {
    let plan = |sessions: &str| {
        format!(
            "models = [\"read\", \"redo\", \"write\", \"read-write\"]\nsessions = [{sessions}]\n[[variant]]\nname = \"a\"\n"
        )
    };
    let odd = Plan::parse("p", &plan("\"2x4\", 3")).unwrap_err().to_string();
    assert!(odd.contains("sessions is '3x1'; it must be an even number for the model 'read-write'"), "{odd}");
    let plan = Plan::parse("p", &plan("\"2x4\", 2")).unwrap();
    let metrics: Vec<&str> = plan.models.iter().map(|model| model.metric.as_str()).collect();
    assert_eq!(metrics, ["reads", "redo", "writes", "read-write"]);
}

const NEIGHBOURS: &str =
    "[[neighbour]]\nname = \"a\"\n[[neighbour]]\nname = \"b\"\n[[neighbour]]\nname = \"c\"\n";

#[test]
fn neighbours_are_measured_alone_in_pairs_and_all_together() {
    let companies = |more: &str| -> Vec<String> {
        let plan = Plan::parse("plan.toml", &format!("{more}{NEIGHBOURS}")).unwrap();
        assert_eq!((plan.variants.len(), plan.sessions_of_steps()), (1, vec![None]));
        plan.models.iter().map(|company| company.name.clone()).collect()
    };
    assert_eq!(companies(""), ["a", "b", "c", "a.b", "a.c", "b.c", "all"]);
    assert_eq!(companies("together = [[\"c\", \"a\"]]\n"), ["a", "b", "c", "a.c"]);
    let errors =
        Plan::parse("plan.toml", &format!("together = [[\"a\"], [\"a\", \"d\"]]\n{NEIGHBOURS}")).unwrap_err();
    let text = errors.to_string();
    assert!(
        text.contains("two names or more") && text.contains("no neighbour 'd'; there are a, b, c"),
        "{text}"
    );
}
