//! Several profiles: merging those of a database, and choosing among databases and instances.

use crate::Profile;

pub fn merge(profiles: Vec<Profile>) -> Vec<Profile> {
    let mut merged: Vec<Profile> = Vec::new();
    for profile in profiles {
        match merged.iter_mut().find(|own| own.subject.is_same(&profile.subject)) {
            Some(own) => own.add(profile),
            None => merged.push(profile),
        }
    }
    merged
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("nothing is of the database {0}; there are {known}", known = .1.join(", "))]
    Database(String, Vec<String>),
    #[error("no interval of {database} is of instance {instance}; {}", known_instances(known))]
    Instance { database: String, instance: String, known: Vec<String> },
}

fn known_instances(known: &[String]) -> String {
    if known.is_empty() { "it has none".into() } else { format!("there are {}", known.join(", ")) }
}

/// Fails if no profile is of the database, or one has no interval of the instance.
pub fn choose(
    profiles: Vec<Profile>,
    database: Option<&str>,
    instance: Option<&str>,
) -> Result<Vec<Profile>, Missing> {
    let names = unique_names(&profiles);
    let is_of = |profile: &Profile, name: &str| {
        profile.subject.name.eq_ignore_ascii_case(name) || profile.subject.id.as_deref() == Some(name)
    };
    let mut chosen: Vec<Profile> =
        profiles.into_iter().filter(|profile| database.is_none_or(|name| is_of(profile, name))).collect();
    if let Some(name) = database.filter(|_| chosen.is_empty()) {
        return Err(Missing::Database(name.to_owned(), names));
    }
    for profile in chosen.iter_mut().filter(|_| instance.is_some()) {
        let instance = instance.unwrap_or_default();
        let known = profile.instances();
        if !known.contains(&instance) {
            return Err(Missing::Instance {
                database: profile.subject.words(),
                instance: instance.to_owned(),
                known: known.into_iter().map(str::to_owned).collect(),
            });
        }
        *profile = profile.of_instance(instance);
    }
    Ok(chosen)
}

/// Databases of the same name get their number.
pub fn unique_names(profiles: &[Profile]) -> Vec<String> {
    let words: Vec<String> = profiles.iter().map(|profile| profile.subject.words()).collect();
    let name = |(profile, own): (&Profile, &String)| {
        let is_alone = words.iter().filter(|other| *other == own).count() == 1;
        match profile.subject.id.as_ref().filter(|_| !is_alone) {
            Some(id) => format!("{own} {id}"),
            None => own.clone(),
        }
    };
    profiles.iter().zip(&words).map(name).collect()
}
