//! Values as `slob.conf` can hold them.

/// Writes a value so that it is read back exactly, in quotes only where it needs them.
///
/// The value must not have control characters: no parameter takes them.
pub(super) fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-+.,:/@%=".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    if !value.contains('\'') {
        // Nothing is special within single quotes. A shell user expects double ones around the rest.
        let quote = if value.contains(['$', '`', '"', '\\']) { '\'' } else { '"' };
        return format!("{quote}{value}{quote}");
    }
    let mut text = String::from('"');
    for c in value.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conf::ConfFile;
    use proptest::prelude::*;

    #[test]
    fn quotes_only_where_needed() {
        assert_eq!(quoted("80M"), "80M");
        assert_eq!(quoted("db://u@h:1/x%20y?a=b"), "\"db://u@h:1/x%20y?a=b\"");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(quoted("a b"), "\"a b\"");
        assert_eq!(quoted("a$b"), "'a$b'");
        assert_eq!(quoted("it's $1"), "\"it's \\$1\"");
    }

    proptest! {
        #[test]
        fn any_value_reads_back(value in "\\P{Cc}*") {
            let file = ConfFile::parse("slob.conf", &format!("KEY={} # comment", quoted(&value))).unwrap();
            prop_assert_eq!(&file.assignments()[0].value, &value);
        }
    }
}
