//! Text in lines of a width.

/// The words of a text in lines of at most `width` characters; a longer word is cut, and a number keeps its
/// percent sign. At least one line.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    let glued = text.replace(" %", "\u{a0}%");
    for word in glued.split([' ', '\n', '\t']).filter(|word| !word.is_empty()) {
        let letters: Vec<char> = word.replace('\u{a0}', " ").chars().collect();
        for (index, piece) in letters.chunks(width).enumerate() {
            let blank = usize::from(index == 0 && used > 0);
            if index > 0 || used + blank + piece.len() > width {
                lines.push(String::new());
                used = 0;
            }
            let blank = if used > 0 { blank } else { 0 };
            if let Some(line) = lines.last_mut() {
                line.extend(std::iter::repeat_n(' ', blank).chain(piece.iter().copied()));
            }
            used += blank + piece.len();
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_fill_lines_and_long_ones_are_cut() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a abcdefghij b", 4), ["a", "abcd", "efgh", "ij b"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("about 99.7 % of it", 10), ["about", "99.7 % of", "it"]);
        assert_eq!(wrapped("abc", 0), ["a", "b", "c"]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_wide(text in "[a-zé ]{0,200}", width in 1_usize..30) {
            let lines = wrapped(&text, width);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width));
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
