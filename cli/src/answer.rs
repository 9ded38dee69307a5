//! How a command hands its answer over: form, file and exit code.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueHint};
use slob_page::{Answer, Outcome};

use crate::failure::{Failure, PARTLY, outcome_code, strict_code};
use crate::output;

#[derive(Args, Clone, Debug, Default)]
#[group(skip)]
pub(crate) struct Forms {
    #[command(flatten)]
    form: Form,
    /// Write a page with charts, to -o or a file of this command's name
    #[arg(long, num_args = 0..=1, require_equals = true, value_name = "FILE", default_missing_value = "")]
    html: Option<String>,
    /// Write to this file; `-` means stdout
    #[arg(hide_short_help = true, short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Exit with 1 unless every verdict is good
    #[arg(hide_short_help = true, long)]
    strict: bool,
}

#[derive(Args, Clone, Copy, Debug, Default)]
#[group(id = "form", multiple = false)]
struct Form {
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Print as comma-separated values
    #[arg(hide_short_help = true, long)]
    csv: bool,
    /// Print in Markdown
    #[arg(hide_short_help = true, long)]
    markdown: bool,
}

impl Forms {
    /// Call it before any work.
    pub(crate) fn checked(&self) -> Result<&Self, Failure> {
        let own = self.html.as_deref().filter(|page| !page.is_empty()).map(Path::new);
        let page = own.or(self.output.as_deref()).filter(|_| self.has_charts());
        if page == Some(Path::new("-")) && !self.is_page_alone() {
            return Err(Failure::usage("a page on stdout and another form: name a file, as in --html=FILE"));
        }
        if own.is_some() && self.is_page_alone() && self.output.is_some() {
            return Err(Failure::usage("the page has two files: use --html=FILE, or --html -o FILE"));
        }
        Ok(self)
    }

    pub(crate) fn has_charts(&self) -> bool {
        self.html.is_some()
    }

    pub(crate) fn is_page_alone(&self) -> bool {
        self.has_charts() && !(self.form.json || self.form.csv || self.form.markdown)
    }

    pub(crate) fn write<A: Answer>(&self, answer: &A) -> Result<(), Failure> {
        let Form { json, csv, markdown } = self.form;
        let mut file = self.output.as_deref().filter(|path| *path != Path::new("-"));
        if let Some(page) = &self.html {
            let usual = PathBuf::from(format!("{}.html", A::NAME));
            let own = Some(Path::new(page)).filter(|_| !page.is_empty());
            output::write_page(&answer.html(), own.or(self.output.as_deref()).unwrap_or(&usual))?;
            if self.is_page_alone() {
                return Ok(());
            }
            // Without a file of its own the page took that of -o.
            file = file.filter(|_| own.is_some());
        }
        let text = match () {
            () if json => answer.json().map_err(|error| failed!("writing {} as JSON: {error}", A::NAME))?,
            () if csv => answer.csv(),
            () if markdown => answer.markdown(),
            () => answer.text(output::width().filter(|_| file.is_none())),
        };
        match file {
            Some(path) => output::write_file(path, &text),
            None => output::print(&text),
        }
    }

    /// Writes an answer, and returns its exit code.
    pub(crate) fn done<A: Answer>(&self, answer: &A, is_partial: bool) -> Result<ExitCode, Failure> {
        self.write(answer)?;
        Ok(self.exit_code(answer, is_partial))
    }

    pub(crate) fn exit_code<A: Answer>(&self, answer: &A, is_partial: bool) -> ExitCode {
        if is_partial { ExitCode::from(PARTLY) } else { exit_code(answer, self.strict) }
    }
}

/// The exit code of an answer: its decision, or else its verdicts if `strict`.
pub(crate) fn exit_code<A: Answer>(answer: &A, strict: bool) -> ExitCode {
    match answer.outcome() {
        Some(Outcome::Passed) | None => strict_code(strict, answer.are_good()),
        Some(outcome) => outcome_code(outcome),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `--html=- --json` wrote a page and JSON into one stream, and `--html=a.html -o b.html` lost the second file.
    #[test]
    fn forms_that_contradict_each_other_are_refused() {
        let forms = |html: Option<&str>, output: Option<&str>, json| Forms {
            form: Form { json, ..Form::default() },
            html: html.map(str::to_owned),
            output: output.map(PathBuf::from),
            strict: false,
        };
        for refused in [
            forms(Some("-"), None, true),
            forms(Some(""), Some("-"), true),
            forms(Some("a.html"), Some("b.html"), false),
        ] {
            assert!(refused.checked().is_err(), "{refused:?}");
        }
        for sound in [
            forms(None, Some("-"), true),
            forms(Some("-"), None, false),
            forms(Some(""), Some("-"), false),
            forms(Some("a.html"), Some("b.json"), true),
            forms(Some(""), Some("a.html"), true),
        ] {
            assert!(sound.checked().is_ok(), "{sound:?}");
        }
    }
}
