//! What can be wrong with a line of `slob.conf`.

/// Why a line can't be read. No message repeats the value, which may be a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// The line is not of the form KEY=value.
    #[error(
        "this is not KEY=value, and this file is never executed as a shell script; delete the line or put '#' before it"
    )]
    NotAnAssignment,
    /// There is white space beside the equals sign.
    #[error("there must be no space beside the '=' after {key}; write {key}=value")]
    SpaceBesideEquals {
        /// The key.
        key: String,
    },
    /// Something a shell would expand or run.
    #[error(
        "the value of {key} has a {found} in it, which a shell would act on; this file is never executed. \
         Write the plain value, in single quotes if the character belongs to it: {key}='...'"
    )]
    ShellSyntax {
        /// The key.
        key: String,
        /// The character.
        found: char,
    },
    /// A backslash outside quotes.
    #[error("the value of {key} has a backslash outside quotes; put the value in single quotes: {key}='...'")]
    Backslash {
        /// The key.
        key: String,
    },
    /// A path that a shell would complete.
    #[error("the value of {key} begins with '~', which is not expanded; write the whole path")]
    Tilde {
        /// The key.
        key: String,
    },
    /// A quote is not closed on its line.
    #[error(
        "the value of {key} begins a {quote} quote that is not closed on this line; add the closing quote"
    )]
    Unterminated {
        /// The key.
        key: String,
        /// The quote.
        quote: char,
    },
    /// There is more text after the value.
    #[error(
        "there is text after the value of {key}; put a value with spaces in quotes, and '#' before a comment"
    )]
    TextAfterValue {
        /// The key.
        key: String,
    },
    /// A control character.
    #[error("the value of {key} has a control character in it; delete it")]
    Control {
        /// The key.
        key: String,
    },
}
