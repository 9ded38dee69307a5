//! The recipes of docs/how-to/recipes: each of their commands, in an empty folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use slob_testing::skipped;
use slob_testing::tries::{Seen, ensure, shown_within};

use crate::common::{Called, Folder, SLOB, is_full, workspace};

fn blocks(text: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    text.split(&begin).skip(1).map(|rest| rest.split("\n```").next().unwrap().to_owned()).collect()
}

/// The recipe with the most runs.
const LONGEST: &str = "pictures-of-the-articles.md";

/// Sessions that think leave the CPUs to other tests. A rate, and a search for one, refuse it.
const THINKING: [(&str, &str); 3] =
    [("SLOB_THINK_TM_FREQUENCY", "1"), ("SLOB_THINK_TM_MIN", ".01"), ("SLOB_THINK_TM_MAX", ".02")];

/// Each command ends well, and its output begins as the recipe shows. What it finds may depend on who else uses the machine.
fn carry_out(recipe: &Path, path: &str) -> Seen {
    let text = fs::read_to_string(recipe).unwrap();
    let folder = Folder::new();
    let (commands, shown) = (blocks(&text, "sh"), blocks(&text, "text"));
    assert!(!commands.is_empty() && commands.len() == shown.len(), "{}", recipe.display());
    let sets_its_pace =
        ["rate", "RATE", "search", "headroom", "THINK"].iter().any(|word| text.contains(word));
    for (commands, shown) in commands.iter().zip(shown) {
        let output = Command::new("bash")
            .args(["-e", "-o", "pipefail", "-c", commands])
            .env("PATH", path)
            .envs(THINKING.into_iter().filter(|_| !sets_its_pace))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = Called::from(output);
        ensure(said.code == 0, || format!("{}:\n{commands}\n{}", recipe.display(), said.all()))?;
        // Figures differ from run to run, the first words of what is shown do not.
        let first_words =
            |text: &str| -> String { text.chars().take_while(|c| !matches!(c, '0'..='9' | '\n')).collect() };
        ensure(first_words(&said.stdout) == first_words(&shown), || {
            format!("{}:\n{commands}\n{}", recipe.display(), said.stdout)
        })?;
    }
    Ok(())
}

#[rstest]
fn a_recipe_works_as_it_stands(
    #[files("../docs/how-to/recipes/*.md")]
    #[exclude("README")]
    recipe: PathBuf,
) {
    if recipe.ends_with(LONGEST) && !is_full() {
        return skipped("its fifty runs are of commands that others have; DRILLS=full makes them");
    }
    let path = format!("{}:{}", Path::new(SLOB).parent().unwrap().display(), std::env::var("PATH").unwrap());
    shown_within(6, || carry_out(&recipe, &path));
}

#[test]
fn the_list_of_recipes_names_each_of_them() {
    let folder = workspace("docs/how-to/recipes");
    let list = fs::read_to_string(folder.join("README.md")).unwrap();
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let missing: Vec<String> =
        names.filter(|name| name != "README.md" && !list.contains(&format!("({name})"))).collect();
    assert!(missing.is_empty(), "{missing:?} are not in the list");
}
