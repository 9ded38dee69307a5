//! What belongs to an installed program: what it says of itself, manual pages, completions.

use std::collections::BTreeSet;
use std::fs;

use crate::common::{Folder, assert_contains};

fn commands(folder: &Folder) -> BTreeSet<String> {
    let help = folder.slob("--help").success().stdout;
    let (listed, _) = help.split_once("\nOptions:\n").unwrap();
    let word =
        |line: &str| line.strip_prefix("  ").and_then(|line| line.split(' ').next()).map(str::to_owned);
    listed.lines().filter_map(word).filter(|word| !word.is_empty() && word != "help").collect()
}

#[test]
fn the_version_says_what_is_compiled_in() {
    let folder = Folder::new();
    assert_eq!(folder.slob("-V").success().stdout, concat!("slob ", env!("CARGO_PKG_VERSION"), "\n"));
    let long = folder.slob("--version").success().stdout;
    let sqlite = format!("sqlite: SQLite {}, built in", rusqlite::version());
    let record = format!("record    version {}", slob_record::RECORD_VERSION);
    assert_contains(&long, &["slob 0.", &sqlite, &record, "postgres: ", "mysql: ", std::env::consts::ARCH]);
}

#[test]
fn every_command_has_a_manual_page_with_its_flags_and_examples() {
    let folder = Folder::new();
    fs::create_dir(folder.at("man")).unwrap();
    folder.slob("man man").success();
    let page = |name: &str| fs::read_to_string(folder.path().join(format!("man/{name}.1"))).unwrap();
    let commands = commands(&folder);
    assert!(commands.len() > 15, "{commands:?}");
    for command in &commands {
        let text = page(&format!("slob-{command}"));
        assert_contains(&text, &[&format!(".TH slob-{command} 1"), ".SH SYNOPSIS"]);
        assert!(page("slob").contains(&format!("slob\\-{}(1)", command.replace('-', "\\-"))), "{command}");
    }
    assert!(page("slob-run").contains("\\-\\-update\\-pct") && page("slob-run").contains("slob run \\-t 4"));
    assert!(page("slob-awr-info").contains("awr\\-parser"));
    let main = folder.slob("man").success().stdout;
    assert_eq!(main, page("slob"));
    folder.slob("man no/such/folder").refused(&["no/such/folder: ", "make it first"]);
}

#[test]
fn completions_know_every_command() {
    let folder = Folder::new();
    let unknown_to = |offered: &str| -> Vec<String> {
        commands(&folder).into_iter().filter(|name| !offered.contains(name.as_str())).collect()
    };
    for shell in ["bash", "zsh", "fish"] {
        let environment = [("COMPLETE", shell), ("_CLAP_COMPLETE_INDEX", "1")];
        let offered = folder.slob_with_env("-- slob ''", &environment).success().stdout;
        assert_eq!(unknown_to(&offered), Vec::<String>::new(), "{shell}");
    }
    for shell in ["elvish", "powershell"] {
        let script = folder.slob(format!("completions {shell}")).success().stdout;
        assert_eq!(unknown_to(&script), Vec::<String>::new(), "{shell}");
    }
}
