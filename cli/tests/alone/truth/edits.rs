//! Records that were edited.

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::{Value, json};
use slob_facts::Recheck;
use slob_report::check_run;

use super::honest::sqlite;
use crate::common::{Folder, Random, is_full};

enum Edit {
    Scaled(&'static str),
    Set(&'static str, Value),
    /// Half of a number of the record goes to another one.
    Moved(&'static str, &'static str),
    /// The first digit after these words of a file.
    Digit(&'static str, &'static str),
    /// The first such words of a file become others.
    Words(&'static str, &'static str, &'static str),
}

/// Numbers that change by a random share.
const SCALED: &str = "/counters/physical_reads /counters/logical_reads /counters/redo_bytes /counters/commits \
    /operations/select/operations /operations/select/rows /operations/update/latency/sum /sessions/0/selects \
    /sessions/1/rows /sessions/0/max_us /window/seconds /window/begin_s /db_cpu/cpu/user_s /db_io/read_bytes /client_cpu/user_s /host/cpu/idle_s \
    /host/load_1m /host/device/counters/read_bytes /host/device/counters/busy_ms /host/info/memory_bytes \
    /latencies/physical_read/sum /events/0/time_us /series/points/0/value/device/read_bytes /series/points/1/value/rows \
    /verification/rows /load/scale_blocks /workload/scale_blocks";
/// Other values, as JSON.
const SET: &str = r#"/host/others_cpu_s 0.0 | /host/device/device/disks/0/model "another disk" |
    /host/device/device/file_system "another" | /host/info/hostname "elsewhere" |
    /host/info/cpu_model "another CPU" | /host/info/virtualisation "none" | /workload/update_pct 60 |
    /configuration/0/value "another" | /configuration/3/value "8G" | /server/direct_io false |
    /server/settings/2/value "2 GiB" | /server/version "99" | /slob_version "99" |
    /status {"state": "interrupted"} | /target "sqlite:./elsewhere" | /id "20200101T000000Z-run" |
    /name "another" | /started "2020-01-01T00:00:00Z" | /ended "2030-01-01T00:00:00Z" |
    /notes ["nothing else was at work"]"#;
/// Files, with the words before the digit that changes.
const DIGITS: &str = "report.txt~writes\n|report.txt~Memory |report.html~id=\"record\">|series.csv~\n0,1,|series.csv~\n1,1,1,|\
    operations.csv~SELECT,|operations.csv~UPDATE,";
const WORDS: [(&str, &str, &str); 4] = [
    ("report.txt", "GOOD", "BAD "),
    ("report.html", "GOOD", "BAD"),
    ("slob.conf", "UPDATE_PCT=25", "UPDATE_PCT=5"),
    ("slob.conf", "SCALE=8M", "SCALE=8G"),
];

fn edits() -> Vec<Edit> {
    let mut edits = vec![Edit::Moved("/host/cpu/user_s", "/host/cpu/idle_s")];
    edits.extend(SCALED.split_whitespace().map(Edit::Scaled));
    edits.extend(SET.split('|').map(|edit| {
        let (place, value) = edit.trim().split_once(' ').unwrap();
        Edit::Set(place, serde_json::from_str(value).unwrap())
    }));
    let digits = DIGITS.split('|').map(|edit| edit.split_once('~').unwrap());
    edits.extend(digits.map(|(file, after)| Edit::Digit(file, after)));
    edits.extend(WORDS.map(|(file, from, to)| Edit::Words(file, from, to)));
    assert_eq!(edits.len(), 59);
    edits
}

struct Sound<'a> {
    run: &'a Path,
    record: &'a Value,
}

impl Sound<'_> {
    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.run.join(file)).unwrap()
    }

    /// An edit of a file beside nothing but the record has no other witness.
    fn is_seen(&self, copy: &Path, edited: &Edited) -> bool {
        if edited.text == self.text(&edited.file) {
            return false;
        }
        fs::remove_dir_all(copy).ok();
        fs::create_dir(copy).unwrap();
        fs::copy(self.run.join("run.json"), copy.join("run.json")).unwrap();
        fs::write(copy.join(&edited.file), &edited.text).unwrap();
        // A file that is no record is refused.
        check_run(copy, None).map_or(true, |(_, checks)| checks.iter().any(Recheck::differs))
    }

    /// `None` if this host or file system can't tell what is edited.
    fn edited(&self, edit: &Edit, random: &mut Random) -> Option<(&'static str, String)> {
        let mut record = self.record.clone();
        match edit {
            Edit::Scaled(place) => {
                let value = record.pointer_mut(place).filter(|value| value.is_number())?;
                *value = scaled(value, random);
            }
            Edit::Set(place, to) => *record.pointer_mut(place)? = to.clone(),
            Edit::Moved(from, to) => {
                let half = record.pointer(from)?.as_f64()? / 2.0;
                *record.pointer_mut(from)? = json!(half);
                *record.pointer_mut(to)? = json!(self.record.pointer(to)?.as_f64()? + half);
            }
            Edit::Digit(file, after) => {
                let mut text = self.text(file);
                let from = text.find(after).unwrap() + after.len();
                let place = from + text[from..].find(|letter: char| letter.is_ascii_digit()).unwrap();
                let other = if &text[place..=place] == "1" { "2" } else { "1" };
                text.replace_range(place..=place, other);
                return Some((file, text));
            }
            Edit::Words(file, from, to) => return Some((file, self.text(file).replacen(from, to, 1))),
        }
        Some(("run.json", record.to_string()))
    }
}

/// What was edited, and the file that it made.
struct Edited {
    what: String,
    file: String,
    text: String,
}

impl std::fmt::Display for Edit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Scaled(place) | Self::Set(place, _) | Self::Moved(place, _) => write!(f, "{place}"),
            Self::Digit(file, words) | Self::Words(file, words, _) => write!(f, "{file}: {words:?}"),
        }
    }
}

#[allow(clippy::print_stderr, reason = "the counts are for docs/evidence.md")]
pub(super) fn all_are_found(random: &mut Random) -> Result<(), String> {
    let random_edits = if is_full() { 200 } else { 40 };
    let folder = sqlite();
    let key = if folder.shell("ssh-keygen -q -t ed25519 -N '' -f key").code == 0 { "--sign key" } else { "" };
    folder.run_json(format!("--run-time 2 --update-pct 25 --cache-mb 2 --keep-operations {key}"));
    let run = folder.last_run();
    let record: Value = serde_json::from_str(&fs::read_to_string(run.join("run.json")).unwrap()).unwrap();
    let sound = Sound { run: &run, record: &record };
    let accused = accusations(&folder);
    let mut missed: Vec<String> = accused.into_iter().map(|words| format!("no edit: {words}")).collect();
    let (mut all, unchanged) = (Vec::new(), record.to_string());
    for edit in &edits() {
        let Some((file, text)) = sound.edited(edit, random) else { continue };
        if file == "run.json" && text == unchanged {
            continue;
        }
        all.push(Edited { what: edit.to_string(), file: file.to_owned(), text });
    }
    let tried = all.len();
    let files: Vec<String> =
        fs::read_dir(&run).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    for _ in 0..random_edits {
        let file = random.of_these(&files);
        let (what, text) = match file.as_str() {
            "run.json" => a_value(&record, random),
            _ => a_letter(&sound.text(file), random),
        };
        all.push(Edited { what: format!("{file}: {what}"), file: file.clone(), text });
    }
    // To check a run takes a CPU its time.
    thread::scope(|scope| {
        let halves = all.chunks(all.len().div_ceil(2)).enumerate().map(|(number, half)| {
            let (copy, sound) = (folder.at(&format!("copy{number}")), &sound);
            scope.spawn(move || -> Vec<&str> {
                let missed = half.iter().filter(|edited| !sound.is_seen(&copy, edited));
                missed.map(|edited| edited.what.as_str()).collect()
            })
        });
        let halves: Vec<_> = halves.collect();
        missed.extend(halves.into_iter().flat_map(|half| half.join().unwrap()).map(str::to_owned));
    });
    eprintln!(
        "edits of a record: {tried} and {random_edits} by chance in {} files, {} missed",
        files.len(),
        missed.len()
    );
    if missed.is_empty() { Ok(()) } else { Err(missed.join("; ")) }
}

fn accusations(folder: &Folder) -> Vec<String> {
    let (_, checks) = check_run(&folder.last_run(), None).unwrap();
    checks.into_iter().filter(Recheck::differs).map(|check| check.words).collect()
}

/// Adds 20 to 70 %, and half a second at least to times: two hundredths of all CPUs may be the rounding of ticks.
fn scaled(value: &Value, random: &mut Random) -> Value {
    let by = 1.2 + random.below(50) as f64 / 100.0;
    match value.as_u64() {
        Some(number) => json!((number as f64 * by).ceil() as u64),
        None => {
            let time = value.as_f64().unwrap();
            json!((time * by).max(time + 0.5))
        }
    }
}

/// Every branch has the same chance, so that histograms do not have all edits.
fn a_value(record: &Value, random: &mut Random) -> (String, String) {
    let mut edited = record.clone();
    let (mut place, mut value) = (String::new(), &mut edited);
    loop {
        let length =
            value.as_object().map_or(0, |fields| fields.len()) + value.as_array().map_or(0, Vec::len);
        let chosen = random.index(length);
        if length == 0 {
            break;
        }
        if value.is_object() {
            let (name, field) = value.as_object_mut().unwrap().iter_mut().nth(chosen).unwrap();
            place += &format!("/{name}");
            value = field;
        } else {
            place += &format!("/{chosen}");
            value = &mut value[chosen];
        }
    }
    *value = match &*value {
        Value::Number(number) if number.is_u64() => {
            json!(number.as_u64().unwrap().wrapping_add(1 + random.below(100)))
        }
        Value::Number(number) => json!(number.as_f64().unwrap() + 1.0),
        Value::String(text) => json!(format!("{text}1")),
        Value::Bool(is) => json!(!is),
        _ => json!(1),
    };
    (place, edited.to_string())
}

fn a_letter(text: &str, random: &mut Random) -> (String, String) {
    let mut bytes = text.as_bytes().to_vec();
    let places: Vec<usize> = (0..bytes.len()).filter(|place| bytes[*place].is_ascii_alphanumeric()).collect();
    let place = *random.of_these(&places);
    bytes[place] = match bytes[place] {
        b'9' => b'1',
        b'z' => b'a',
        b'Z' => b'A',
        letter => letter + 1,
    };
    (format!("at {place}"), String::from_utf8(bytes).unwrap())
}
