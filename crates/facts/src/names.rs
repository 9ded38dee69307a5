pub fn similar_names<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    const MOST: usize = 5;
    /// Least similarity (Jaro-Winkler, 0 to 1).
    const SIMILAR: f64 = 0.75;
    let similarity = |name: &str| {
        let contains = !wanted.is_empty() && name.contains(wanted);
        strsim::jaro_winkler(wanted, name) + if contains { 1.0 } else { 0.0 }
    };
    let mut similar: Vec<(f64, &str)> =
        names.map(|name| (similarity(name), name)).filter(|(similarity, _)| *similarity >= SIMILAR).collect();
    similar.sort_by(|a, b| b.0.total_cmp(&a.0));
    similar.dedup_by(|a, b| a.1 == b.1);
    similar.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// ` (did you mean sessions?)`; empty without similar names.
pub fn did_you_mean(wanted: &str, names: impl Iterator<Item = &'static str>) -> String {
    let near = similar_names(wanted, names).join(", ");
    if near.is_empty() { String::new() } else { format!(" (did you mean {near}?)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_come_first_and_others_not_at_all() {
        let names = ["physical_reads_per_s", "physical_writes_per_s", "host", "redo_mb_per_s"];
        assert_eq!(similar_names("physical_read_per_s", names.into_iter())[0], "physical_reads_per_s");
        assert_eq!(similar_names("redo", names.into_iter()), ["redo_mb_per_s"]);
        assert!(similar_names("zzz", names.into_iter()).is_empty());
    }
}
