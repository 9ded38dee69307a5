//! What every page holds, whatever the record: style, scripts, and the policy that lets nothing else in.

/// The style sheet.
pub(super) const STYLE: &str = include_str!("assets/style.css");

/// The page's own script. Changed, it is hashed anew by `build.rs`.
pub(super) const SCRIPT: &str = include_str!("assets/page.js");

/// The script of the page of all runs.
pub(super) const INDEX_SCRIPT: &str = include_str!("assets/index.js");

/// Its hash.
const INDEX_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/index.sha256"));

/// The chart library (plotly.js, MIT licence), as zlib data in base64.
pub(super) const LIBRARY: &str = include_str!(concat!(env!("OUT_DIR"), "/library.b64"));

/// The hash of the page's script, as a policy names it.
const SCRIPT_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/page.sha256"));

/// The hash of the chart library.
const LIBRARY_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/library.sha256"));

/// The Content-Security-Policy: no request to anywhere, and no scripts but these two. Styles are free, since the chart
/// library sets them on what it draws; images are those that it makes itself.
pub(super) fn policy() -> String {
    format!(
        "default-src 'none'; script-src {SCRIPT_HASH} {LIBRARY_HASH}; style-src 'unsafe-inline'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'"
    )
}

/// The policy of the page of all runs, which draws its curves without the library.
pub(super) fn index_policy() -> String {
    format!(
        "default-src 'none'; script-src {INDEX_HASH}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )
}
