//! An observer at the end of a pipe.

use std::io::{self, BufRead, Read, Write};

use crate::message::{Answer, LONGEST_LINE, Question, Told};
use crate::observer::Observer;

/// Says hello, then answers questions until there are no more.
///
/// # Errors
/// If what is read is no question, or nobody listens any more.
pub fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut observer = Observer::default();
    say(output, &Observer::hello())?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        let question: Question = serde_json::from_slice(&line)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("no question: {error}")))?;
        let number = question.number;
        let mut lost: Option<io::Error> = None;
        let told = observer.answer(question.ask, &mut |told: Told| {
            lost = lost.take().or_else(|| say(output, &Answer { number, told }).err());
            lost.is_none()
        });
        lost.map_or(Ok(()), Err)?;
        say(output, &Answer { number, told })?;
    }
}

fn say(output: &mut impl Write, words: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(words)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}
