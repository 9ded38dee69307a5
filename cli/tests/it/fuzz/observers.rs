//! An observer on another host is input: whatever it says, it costs figures at most.

use std::io::Cursor;

use serde_json::Value;
use slob_observe::{Answer, Hello, Reply};

use super::damage;
use super::each;

/// A hello, a server that was found, one that was not, and two sights, all of this process.
fn conversation() -> Vec<Vec<u8>> {
    let me = std::process::id();
    let questions = format!(
        "{{\"number\":1,\"body\":{{\"find\":{{\"clues\":{{\"pid\":{me},\"data\":\"/\",\"log\":\"/proc\"}}}}}}}}\n\
         {{\"number\":2,\"body\":{{\"find\":{{\"clues\":{{\"names\":[\"no such server\"]}}}}}}}}\n\
         {{\"number\":3,\"body\":{{\"look\":{{\"edge\":true}}}}}}\n{{\"number\":4,\"body\":{{\"look\":{{\"edge\":true}}}}}}\n"
    );
    let mut said = Vec::new();
    slob_observe::serve(&mut Cursor::new(questions), &mut said).unwrap();
    said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

#[test]
fn an_observer_says_what_is_read_again() {
    let lines = conversation();
    assert_eq!(lines.len(), 5);
    assert!(!Hello::parse(&lines[0]).unwrap().host.kernel.is_empty());
    let told: Vec<Reply> = lines[1..].iter().map(|line| Answer::parse(line).unwrap().body).collect();
    assert!(matches!(&told[0], Reply::Found(found) if found.pid == std::process::id()), "{told:?}");
    assert!(matches!(&told[1], Reply::NotFound(why) if why.contains("no such server")), "{told:?}");
    let [Reply::Sample(first), Reply::Sample(second)] = &told[2..] else { panic!("{told:?}") };
    let between = second.since(first, true).unwrap();
    assert!(between.seconds > 0.0 && between.servers[0].is_some() && between.servers[1].is_none());
}

#[test]
fn damaged_words_of_an_observer_are_refused_or_read() {
    let lines = conversation();
    let values: Vec<Value> = lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
    let Reply::Sample(good) = Answer::parse(&lines[4]).unwrap().body else { panic!() };
    each("observer's words", 2000, 64, |random| {
        let line = if random.one_in(2) {
            damage::bytes(&lines[random.index(lines.len())], damage::JSON, random)
        } else {
            serde_json::to_vec(&damage::json(random.of_these(&values), random)).unwrap()
        };
        let _ = Hello::parse(&line);
        match Answer::parse(&line) {
            Ok(Answer { body: Reply::Sample(sight), .. }) => {
                for (later, earlier) in [(&sight, &good), (&good, &sight), (&sight, &sight)] {
                    if let Some(between) = later.since(earlier, true) {
                        assert!(between.seconds.is_finite() && between.seconds > 0.0, "{between:?}");
                    }
                }
            }
            Ok(_) => {}
            Err(garbled) => assert!(garbled.len() < 400, "{garbled}"),
        }
    });
}

#[test]
fn damaged_questions_end_an_observer_and_nothing_else() {
    let question = br#"{"number":1,"body":{"find":{"clues":{"pid":1,"names":["x"],"age_s":1.5,"port":5432,"socket":"/s","child":7,"data":"/"}}}}"#;
    let look = br#"{"number":2,"body":{"look":{"edge":false}}}"#;
    each("questions to an observer", 300, 64, |random| {
        let mut asked = Vec::new();
        for line in [&question[..], &look[..]] {
            // A probe would measure the device.
            let damaged = damage::bytes(line, damage::JSON, random);
            if !damaged.windows(5).any(|words| words == b"probe") {
                asked.extend(damaged);
                asked.push(b'\n');
            }
        }
        let mut said = Vec::new();
        let _ = slob_observe::serve(&mut Cursor::new(asked), &mut said);
        let mut lines = said.split(|byte| *byte == b'\n').skip(1);
        assert!(lines.all(|line| line.is_empty() || Answer::parse(line).is_ok()));
    });
}
