//! The recipes of docs/recipes, carried out as they stand: each command of each of them, in an empty folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::{Folder, SLOB};

fn recipes() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/recipes");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut recipes: Vec<PathBuf> = entries.filter(|path| !path.ends_with("README.md")).collect();
    recipes.sort();
    recipes
}

/// The blocks of a language, in order.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    text.split(&begin).skip(1).map(|rest| rest.split("\n```").next().unwrap().to_owned()).collect()
}

/// Carries out a recipe: each of its commands ends well, and begins to say what the recipe shows.
fn carry_out(recipe: &Path, path: &str) {
    let text = fs::read_to_string(recipe).unwrap();
    let folder = Folder::new();
    let (commands, shown) = (blocks(&text, "sh"), blocks(&text, "text"));
    assert!(!commands.is_empty() && commands.len() == shown.len(), "{}", recipe.display());
    for (commands, shown) in commands.iter().zip(shown) {
        let output = Command::new("bash")
            .args(["-e", "-o", "pipefail", "-c", commands])
            .env("PATH", path)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let (stdout, stderr) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{}:\n{commands}\n{stdout}\n{stderr}", recipe.display());
        // Figures differ from run to run, the first words of what is shown do not.
        let first_words =
            |text: &str| -> String { text.chars().take_while(|c| !matches!(c, '0'..='9' | '\n')).collect() };
        assert_eq!(first_words(&stdout), first_words(&shown), "{}", recipe.display());
    }
}

#[test]
fn every_recipe_works_as_it_stands() {
    let path = format!("{}:{}", Path::new(SLOB).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let recipes = recipes();
    assert!(recipes.len() >= 8, "{recipes:?}");
    // Two at a time: they spend most of their time measuring, and no figure is looked at.
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(recipe) = recipes.get(next.fetch_add(1, Ordering::Relaxed)) {
            carry_out(recipe, &path);
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
}

#[test]
fn the_list_of_recipes_names_each_of_them() {
    let recipes = recipes();
    let list = fs::read_to_string(recipes[0].with_file_name("README.md")).unwrap();
    for recipe in recipes {
        let name = recipe.file_name().unwrap().to_string_lossy().into_owned();
        assert!(list.contains(&format!("({name})")), "{name} is not in the list");
    }
}
