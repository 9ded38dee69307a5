//! Names that look like one that is not there.

/// How many are offered.
const MOST: usize = 5;
/// How alike a name must be (Jaro-Winkler, 0 to 1); below that it is another name.
const ALIKE: f64 = 0.75;

/// The names most like `wanted`, best first: those that hold it, then those spelled like it.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let likeness = |name: &str| {
        let holds = !wanted.is_empty() && name.contains(wanted);
        strsim::jaro_winkler(wanted, name) + if holds { 1.0 } else { 0.0 }
    };
    let mut alike: Vec<(f64, &str)> =
        names.map(|name| (likeness(name), name)).filter(|(of, _)| *of >= ALIKE).collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    alike.dedup_by(|a, b| a.1 == b.1);
    alike.into_iter().take(MOST).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_come_first_and_strangers_not_at_all() {
        let names = ["physical_reads_per_s", "physical_writes_per_s", "host", "redo_mb_per_s"];
        assert_eq!(nearest("physical_read_per_s", names.into_iter())[0], "physical_reads_per_s");
        assert_eq!(nearest("redo", names.into_iter()), ["redo_mb_per_s"]);
        assert!(nearest("zzz", names.into_iter()).is_empty());
    }
}
