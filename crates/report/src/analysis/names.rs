//! What the names of repeated runs have in common.

/// The name without its folder, the numbers that end it after dots (sessions, or writers and readers), and the number of
/// the run: `x/AWR-XFS-run3.8.0` is `AWR-XFS`, `read-raw-r2` is `read-raw`.
pub(super) fn stem(name: &str) -> String {
    let mut rest = name.rsplit('/').next().unwrap_or(name);
    for _ in 0..2 {
        match rest.rsplit_once('.') {
            Some((head, tail)) if is_number(tail) && !head.is_empty() => rest = head,
            _ => break,
        }
    }
    let without_digits = rest.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if without_digits.len() == rest.len() {
        return rest.to_owned();
    }
    let word = ["run", "Run", "RUN", "r"].iter().find_map(|word| without_digits.strip_suffix(word));
    let head = word.unwrap_or(without_digits);
    // `ext4` ends with a number too: only one after a separator counts runs.
    let separated = head.strip_suffix(['-', '_', '.']);
    separated.filter(|head| !head.is_empty()).unwrap_or(rest).to_owned()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_sessions_are_taken_off() {
        for (name, expected) in [
            ("AWR-FCSAN-run1.8.0", "AWR-FCSAN"),
            ("/tmp/x/AWR-XFS-run10.0.16", "AWR-XFS"),
            ("awr.txt.128", "awr.txt"),
            ("ext4", "ext4"),
            ("ext4-2", "ext4"),
            ("read-raw-r2", "read-raw"),
            ("EXT3_READ_7.16.0", "EXT3_READ"),
            ("7", "7"),
            ("run", "run"),
        ] {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}
