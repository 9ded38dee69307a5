//! Text of a record on its way into a page.

use maud::{Markup, PreEscaped, html};
use serde_json::Value;

/// The text is for an element or a quoted attribute. A number keeps its percent sign on its line.
pub fn text(raw: &str) -> String {
    let glued = raw.replace(" %", "\u{a0}%");
    html! { (glued) }.into_string()
}

/// Writes µs for us, and commands between backquotes as code.
pub fn prose(raw: &str) -> String {
    let mut words: Vec<&str> = raw.split(' ').collect();
    for at in 0..words.len() {
        let after_number = at > 0 && words[at - 1].ends_with(|letter: char| letter.is_ascii_digit());
        if after_number || at + 1 == words.len() {
            words[at] = micro(words[at]);
        }
    }
    commands(&text(&words.join(" ")))
}

pub fn markup(raw: &str) -> Markup {
    PreEscaped(prose(raw))
}

fn commands(safe: &str) -> String {
    let parts: Vec<&str> = safe.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return safe.to_owned();
    }
    let shown = |(at, part): (usize, &&str)| {
        if at.is_multiple_of(2) { (*part).to_owned() } else { format!("<code>{part}</code>") }
    };
    parts.iter().enumerate().map(shown).collect()
}

fn micro(word: &str) -> &str {
    match word {
        "us" => "\u{b5}s",
        "us." => "\u{b5}s.",
        "us," => "\u{b5}s,",
        "us;" => "\u{b5}s;",
        "us)" => "\u{b5}s)",
        "(us)" => "(\u{b5}s)",
        "us/op" => "\u{b5}s/op",
        "us/read" => "\u{b5}s/read",
        _ => word,
    }
}

/// Nothing in it can end the script element or begin a comment.
pub fn json(value: &Value) -> String {
    value.to_string().replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

/// The chart library knows a few tags and must not see any.
pub fn label(raw: &str) -> String {
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const EVIL: &str = "</script><script>alert(1)</script><!-- \"'&";

    #[test]
    fn text_holds_no_tag_and_ends_no_attribute() {
        let safe = text(EVIL);
        // Attributes are in double quotes.
        assert!(!safe.contains(['<', '>', '"']), "{safe}");
        assert_eq!(text("a & b"), "a &amp; b");
    }

    #[test]
    fn microseconds_have_their_sign_and_words_stay() {
        assert_eq!(prose("Mean us"), "Mean \u{b5}s");
        assert_eq!(prose("12 us, and tell us more"), "12 \u{b5}s, and tell us more");
        assert_eq!(text("5 %"), "5\u{a0}%");
    }

    #[test]
    fn commands_are_code_and_names_in_them_text() {
        assert_eq!(prose("say `slob probe <x>` now"), "say <code>slob probe &lt;x&gt;</code> now");
        assert_eq!(prose("an open ` stays"), "an open ` stays");
    }

    #[test]
    fn json_reads_back_and_ends_no_script() {
        let value = json!({ EVIL: EVIL });
        let safe = json(&value);
        assert!(!safe.contains(['<', '>']), "{safe}");
        assert_eq!(serde_json::from_str::<Value>(&safe).unwrap(), value);
    }
}
