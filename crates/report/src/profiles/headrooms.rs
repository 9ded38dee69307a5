//! Several platforms compared by their headroom, as in an analysis. Steps of a search limit how exact its result is: every
//! interval is widened by their distance.

use itertools::Itertools;
use serde::{Deserialize, Serialize};
use slob_demand::{HeadroomStep, times};
use slob_stats::{Comparison, PercentInterval, summary};

use super::headroom::{are_good, nearest_above, refused};
use crate::Confidence;
use crate::analysis::{compared_places, number_or_empty};
use crate::change::{range, shown_percent};
use slob_facts::format::{or_absent, plural};
use slob_page::Answer;
use slob_page::chart::{Axis, Bar, Bars, Chart, Colour, Drawing, Trace, Unit};
use slob_page::escape;
use slob_page::layout::{Section, View, lead};
use slob_page::{Column, Page, Table};

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SearchResult {
    #[serde(skip_deserializing)]
    folder: String,
    carries: Option<f64>,
    at_least: Option<f64>,
    less_than: Option<f64>,
    #[serde(default, skip_serializing)]
    steps: Vec<HeadroomStep>,
    #[serde(skip_deserializing)]
    limit: Option<String>,
    unknown: Option<String>,
}

impl SearchResult {
    pub fn read(folder: &str, json: &[u8]) -> Result<Self, serde_json::Error> {
        let found: Self = serde_json::from_slice(json)?;
        Ok(Self { folder: folder.to_owned(), ..found }.judged())
    }

    fn judged(self) -> Self {
        let counted = self.steps.iter().filter(|step| step.not_counted.is_none());
        let broken = counted.filter_map(|step| Some((step.factor, step.broke.as_ref()?.words())));
        let limit = nearest_above(self.carries, broken);
        let unknown = self.why_unknown(limit.is_some());
        Self { limit, unknown, ..self }
    }

    fn why_unknown(&self, has_broken: bool) -> Option<String> {
        if let Some(why) = &self.unknown {
            return Some(why.clone());
        }
        if let Some(why) = self.steps.iter().find_map(HeadroomStep::why_cached) {
            return Some(format!("a step does not count: {}", why.trim_end_matches('.')));
        }
        if let Some(why) = self.steps.iter().find_map(refused) {
            return Some(format!("it can't be relied on: {}", why.trim_end_matches('.')));
        }
        match (self.carries, self.at_least, self.less_than) {
            (None, ..) => Some("not even the least part of the demand that was tried was carried".into()),
            (Some(carries), _, None) if !has_broken => {
                Some(format!("nothing broke up to {} times: allow more with `most`", times(carries)))
            }
            (Some(_), _, None) | (Some(_), None, _) => {
                Some("its runs differ too much to settle: make them longer".into())
            }
            (Some(_), Some(_), Some(_)) => None,
        }
    }

    /// Downwards and upwards, as ratios of 1 or more.
    fn error(&self) -> Option<[f64; 2]> {
        let carries = self.carries?;
        Some([(carries / self.at_least?).max(1.0), (self.less_than? / carries).max(1.0)])
    }
}

/// Numbers are absent if a search has none: those of some searches would mislead.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
pub struct Platform {
    name: String,
    twin_of: Option<String>,
    median: Option<f64>,
    /// Absent with fewer than two searches.
    low: Option<f64>,
    high: Option<f64>,
    smallest: Option<f64>,
    largest: Option<f64>,
    searches: Vec<SearchResult>,
}

impl Platform {
    pub fn new(
        name: String,
        twin_of: Option<String>,
        searches: Vec<SearchResult>,
        confidence: Confidence,
    ) -> Self {
        let is_known = searches.iter().all(|search| search.unknown.is_none());
        let (median, low, high, smallest, largest) = (None, None, None, None, None);
        let unknown = Self { name, twin_of, median, low, high, smallest, largest, searches };
        if !is_known {
            return unknown;
        }
        let (low, high) = unknown.interval(confidence).map(|[low, high]| (low, high)).unzip();
        let values = unknown.values();
        let (smallest, largest) = (summary::minimum(&values), summary::maximum(&values));
        Self { median: summary::median(&values), low, high, smallest, largest, ..unknown }
    }

    fn values(&self) -> Vec<f64> {
        self.searches.iter().filter_map(|search| search.carries).collect()
    }

    fn error(&self) -> [f64; 2] {
        let errors = self.searches.iter().filter_map(SearchResult::error);
        errors.fold([1.0, 1.0], |[down, up], error| [f64::max(down, error[0]), f64::max(up, error[1])])
    }

    fn interval(&self, confidence: Confidence) -> Option<[f64; 2]> {
        let logarithms: Vec<f64> = self.values().into_iter().map(f64::ln).collect();
        let (low, high) = summary::mean_interval(&logarithms, confidence.ratio())?;
        let [down, up] = self.error();
        Some([low.exp() / down, high.exp() * up])
    }

    fn words(&self, confidence: Confidence) -> Option<String> {
        let interval = self.interval(confidence);
        let within = interval.map(|[low, high]| format!(" ({} to {})", times(low), times(high)));
        Some(format!("{} times{}", times(self.median?), within.unwrap_or_default()))
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Headrooms {
    demand: String,
    confidence: Confidence,
    pub done: usize,
    of: usize,
    variants: Vec<Platform>,
    pairs: Vec<PlatformPair>,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
struct PlatformPair {
    first: String,
    second: String,
    percent: Option<f64>,
    low_percent: Option<f64>,
    high_percent: Option<f64>,
    more_than_noise: Option<bool>,
    sentence: String,
}

impl Headrooms {
    /// The baseline comes first. `of` is the number of searches of the campaign.
    pub fn of(demand: String, variants: Vec<Platform>, of: usize, confidence: Confidence) -> Self {
        let done = variants.iter().map(|platform| platform.searches.len()).sum();
        let pairs = pairs(&variants, confidence);
        Self { demand, confidence, done, of, variants, pairs }
    }

    fn searches(&self) -> impl Iterator<Item = (&str, usize, &SearchResult)> {
        self.variants.iter().flat_map(|row| {
            let numbered = row.searches.iter().zip(1..);
            numbered.map(move |(search, number)| (row.name.as_str(), number, search))
        })
    }

    fn lead(&self) -> String {
        format!("How many times this demand is carried: {}.", self.demand)
    }

    fn write_statements(&self, page: &mut Page) {
        for (name, number, search) in self.searches() {
            let why = search.unknown.iter();
            why.for_each(|why| page.paragraph(&format!("{name}, search {number}: {why}.")));
        }
        self.pairs.iter().for_each(|pair| page.paragraph(&pair.sentence));
        page.paragraph(
            "Median of the searches; intervals hold how much repeats differ and how far the steps of a search are apart.",
        );
        if let Some(left) = self.of.checked_sub(self.done).filter(|left| *left > 0) {
            let verb = if left == 1 { "is" } else { "are" };
            page.paragraph(&format!("{left} of {} searches {verb} not done yet.", self.of));
        }
    }

    fn platforms_table(&self) -> Table {
        let interval = format!("{} interval", self.confidence);
        let to = |(low, high)| format!("{} to {}", times(low), times(high));
        let row = |row: &Platform| {
            let [median, smallest, largest] =
                [row.median, row.smallest, row.largest].map(|number| or_absent(number, times));
            let interval = or_absent(row.low.zip(row.high), to);
            [row.name.clone(), row.searches.len().to_string(), median, interval, smallest, largest]
        };
        let heads = ["Searches", "Median", &interval, "Smallest", "Largest"];
        Table::of_numbers(Column::left("Variant"), heads).with_rows(self.variants.iter().map(row))
    }

    fn searches_table(&self) -> Table {
        let heads = ["Carries", "At least", "Less than"].map(Column::right);
        let limit = [Column::left("Beyond that").at_most(48)];
        let mut table = Table::new([&[Column::left("Folder")][..], &heads, &limit].concat());
        for (_, _, search) in self.searches() {
            let SearchResult { carries, at_least, less_than, folder, .. } = search;
            let numbers = [carries, at_least, less_than].map(|number| or_absent(*number, times));
            let limit = or_absent(search.limit.clone(), |limit| limit);
            table.row([&[folder.clone()][..], &numbers, &[limit]].concat());
        }
        table
    }
}

fn pairs(platforms: &[Platform], confidence: Confidence) -> Vec<PlatformPair> {
    let places = compared_places(platforms, |platform| (&platform.name, platform.twin_of.as_deref()));
    let each = confidence.of_each(places.len());
    let pair =
        |(first, second): (usize, usize)| PlatformPair::of(&platforms[first], &platforms[second], each);
    places.into_iter().map(pair).collect()
}

impl PlatformPair {
    fn of(first: &Platform, second: &Platform, confidence: Confidence) -> Self {
        let are_known = first.median.is_some() && second.median.is_some();
        let compared = || Comparison::of(&first.values(), &second.values(), confidence.ratio());
        let comparison = are_known.then(compared).flatten();
        let ([first_down, first_up], [second_down, second_up]) = (first.error(), second.error());
        let error = f64::max(first_down * second_up, first_up * second_down);
        let interval = comparison.and_then(|comparison| comparison.interval);
        let interval = interval.map(|interval| interval.widened(100.0 * (error - 1.0)));
        Self {
            first: first.name.clone(),
            second: second.name.clone(),
            percent: comparison.map(|comparison| comparison.percent),
            low_percent: interval.map(|interval| interval.low),
            high_percent: interval.map(|interval| interval.high),
            more_than_noise: interval.map(|interval| interval.excludes_zero()),
            sentence: sentence([first, second], comparison, interval, confidence),
        }
    }
}

fn sentence(
    [first, second]: [&Platform; 2],
    comparison: Option<Comparison>,
    interval: Option<PercentInterval>,
    confidence: Confidence,
) -> String {
    let (Some(comparison), Some(of_first), Some(of_second)) =
        (comparison, first.words(confidence), second.words(confidence))
    else {
        let unknown = [first, second].into_iter().filter(|platform| platform.median.is_none());
        let unknown = unknown.map(|platform| platform.name.as_str()).join(" and for ");
        let why = if unknown.is_empty() { unknown } else { format!(": there is no number for {unknown}") };
        return format!("{} and {} can't be compared{why}.", first.name, second.name);
    };
    let figures = format!("{} carries {of_second} this demand, {} {of_first}", second.name, first.name);
    let Some(interval) = interval else {
        let least = plural(comparison.first_n.min(comparison.second_n) as u64, "search");
        return format!("{figures}: with {least} on a side it can't be said whether that is noise.");
    };
    match (interval.excludes_zero(), second.twin_of.is_some()) {
        (true, true) => format!(
            "A/A: {figures}, though they are the same ({}): something else changed between the searches. Do not trust \
             differences of that size.",
            range(&interval)
        ),
        (true, false) => {
            let word = if interval.low > 0.0 { "more" } else { "less" };
            format!("{figures}: a difference that is more than noise ({} {word}).", range(&interval))
        }
        (false, is_twin) => {
            let prefix = if is_twin { "A/A: " } else { "" };
            let noise = shown_percent(interval.noise_percent());
            format!("{prefix}{figures}: a difference that noise could make (the noise is {noise} %).")
        }
    }
}

impl Answer for Headrooms {
    const NAME: &'static str = "compare";

    fn write(&self, page: &mut Page) {
        page.section("Headroom compared");
        page.paragraph(&self.lead());
        page.line("");
        page.table(&self.platforms_table());
        page.line("");
        self.write_statements(page);
        page.section("Searches");
        page.table(&self.searches_table());
    }

    fn view(&self) -> View {
        let names = self.variants.iter().map(|row| row.name.as_str()).join(", ");
        let counted = format!("{}: {names}", plural(self.variants.len() as u64, "variant"));
        let compared = Section::new("compared", "Compared")
            .part("What differs", |page| self.write_statements(page))
            .charts(vec![chart(self)])
            .part("How many times each carries", |page| page.table(&self.platforms_table()));
        let searches = Section::new("searches", "Searches")
            .part("Each search", |page| page.table(&self.searches_table()));
        View {
            title: "Headroom compared".into(),
            heading: "Headroom compared".into(),
            lead: format!("{}<p class=\"id\">{}</p>\n", lead(&self.lead()), escape::text(&counted)),
            sections: vec![compared, searches],
            source: "From what each search of the campaign found; its own page is in its folder.".into(),
        }
    }

    fn table(&self) -> Table {
        let heads = ["variant", "search", "carries", "low", "high", "limit", "unknown", "folder"];
        let row = |name: &str, search: &str, numbers: [Option<f64>; 3], words: [Option<&str>; 3]| {
            let words = words.map(|word| word.unwrap_or_default().to_owned());
            [&[name.to_owned(), search.to_owned()][..], &numbers.map(number_or_empty), &words].concat()
        };
        let rows = self.variants.iter().flat_map(|platform| {
            let name = platform.name.as_str();
            let searches = platform.searches.iter().zip(1..).map(move |(search, number)| {
                let numbers = [search.carries, search.at_least, search.less_than];
                let words = [search.limit.as_deref(), search.unknown.as_deref(), Some(&*search.folder)];
                row(name, &format!("{number}"), numbers, words)
            });
            searches.chain([row(name, "all", [platform.median, platform.low, platform.high], [None; 3])])
        });
        Table::new(heads.map(Column::left)).with_rows(rows)
    }

    fn are_good(&self) -> bool {
        let searches = || self.searches().map(|(.., search)| search);
        searches().all(|search| search.unknown.is_none())
            && are_good(searches().flat_map(|search| &search.steps))
    }
}

fn chart(headrooms: &Headrooms) -> Chart {
    let bar = |(at, row): (usize, &Platform)| {
        let length = row.median?;
        let interval = row.low.zip(row.high);
        let within = interval.map(|(low, high)| format!(", {} to {}", times(low), times(high)));
        let (within, searches) = (within.unwrap_or_default(), plural(row.searches.len() as u64, "search"));
        let hover = format!("{}: {} times{within}; {searches}", row.name, times(length));
        let bar = Bar::new(at as f64, 0.6, length, hover).with_interval(interval);
        Some(Trace::Bars(Bars::new(&row.name, Colour::Variant(at), vec![bar])))
    };
    let traces = headrooms.variants.iter().enumerate().filter_map(bar).collect();
    let names = headrooms.variants.iter().enumerate().map(|(at, row)| (at as f64, row.name.clone()));
    let x = Axis::linear("variant", Unit::Plain).ranging(-0.5, headrooms.variants.len() as f64 - 0.5);
    let y = Axis::linear("times the demand", Unit::Plain);
    Chart {
        id: "multiples".into(),
        title: "Times the demand".into(),
        about: "The median of the searches of each variant; the line at its end is its interval, which a single search does \
                not have."
            .into(),
        source: "the searches of the campaign".into(),
        body: Drawing::new(x.named(names), y, traces).following_bars(times).or("no variant has a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_demand::Break;

    fn platform(name: &str, values: &[f64]) -> Platform {
        let search = |(carries, nth): (&f64, i32)| SearchResult {
            folder: format!("{name}-headroom-r{nth}"),
            carries: Some(*carries),
            at_least: Some(*carries),
            less_than: Some(carries * 1.08),
            ..SearchResult::default()
        };
        new(name, values.iter().zip(1..).map(search).collect())
    }

    fn new(name: &str, searches: Vec<SearchResult>) -> Platform {
        Platform::new(name.into(), None, searches, Confidence::default())
    }

    /// A platform whose second search has no upper end.
    fn open_platform(name: &str) -> Platform {
        let mut searches = platform(name, &[64.0, 64.0]).searches;
        searches[1].less_than = None;
        new(name, searches.into_iter().map(SearchResult::judged).collect())
    }

    fn pair(first: &Platform, second: &Platform) -> PlatformPair {
        PlatformPair::of(first, second, Confidence::default())
    }

    #[test]
    fn every_form_says_the_same_and_leaves_out_unknown_values() {
        let platforms = vec![platform("a, b", &[2.0, 2.2]), open_platform("b")];
        let headrooms = Headrooms::of("PROD; peak".into(), platforms, 5, Confidence::default());
        let csv = headrooms.csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[1], "\"a, b\",1,2,2,2.16,,,\"a, b-headroom-r1\"");
        assert!(lines[3].starts_with("\"a, b\",all,2.1,"), "{csv}");
        let why = "nothing broke up to 64 times: allow more with `most`";
        assert_eq!(lines[5], format!("b,2,64,64,,,{why},b-headroom-r2"));
        assert_eq!(lines[6], "b,all,,,,,,");
        let json = serde_json::to_value(&headrooms).unwrap();
        assert_eq!((&json["done"], &json["of"]), (&4.into(), &5.into()));
        assert!(json["variants"][1].get("median").is_none(), "{json:#}");
        assert_eq!(json["variants"][1]["searches"][1]["unknown"], why);
        assert_eq!(json["variants"][0]["searches"][0]["carries"], 2.0);
        assert!(json["pairs"][0]["sentence"].as_str().unwrap().contains("no number for b"));
        let text = headrooms.text(None);
        assert!(text.contains(&format!("b, search 2: {why}.")), "{text}");
        assert!(text.contains("1 of 5 searches is not done yet."), "{text}");
        let page = headrooms.html();
        assert!(page.contains("data-chart=\"multiples\"") && page.contains("no number for b"), "{page}");
    }

    /// What a search did not know was compared as if it did.
    #[test]
    fn a_search_that_is_not_known_is_not_compared() {
        let json = br#"{"carries": 4.0, "at_least": 3.9, "less_than": 4.1, "steps": [], "unknown": "another load was made"}"#;
        let unknown = new("b", vec![SearchResult::read("b-r1", json).unwrap()]);
        assert_eq!(unknown.median, None);
        let pair = pair(&platform("a", &[2.0, 2.2]), &unknown);
        assert!(pair.sentence.contains("there is no number for b"), "{}", pair.sentence);
    }

    #[test]
    fn equal_repeats_are_as_exact_as_the_steps_are_apart() {
        let Platform { low, high, .. } = platform("a", &[2.0; 3]);
        assert_eq!([low, high].map(|end| times(end.unwrap())), ["2", "2.16"]);
    }

    #[test]
    fn the_limit_is_what_broke_nearest_above() {
        let step = |factor, rate| HeadroomStep {
            factor,
            broke: Some(Break::Rate { kept_percent: 50.0, rate }),
            ..HeadroomStep::default()
        };
        let mut search = platform("a", &[2.0]).searches.remove(0);
        search.steps = vec![step(4.0, 400), step(2.2, 220), step(2.0, 200)];
        let mut search = search.judged();
        assert!(search.limit.as_deref().unwrap().contains("220"), "{search:?}");
        search.carries = None;
        assert!(search.judged().limit.unwrap().contains("200"));
    }

    #[test]
    fn a_large_difference_is_more_than_noise_and_a_small_one_may_be_noise() {
        let first = platform("array-a", &[1.8, 1.83, 1.78]);
        let second = platform("array-b", &[2.8, 2.83, 2.75]);
        let large = pair(&first, &second);
        let text = &large.sentence;
        assert!(
            text.starts_with("array-b carries 2.8 times (2.") && text.contains("array-a 1.8 times ("),
            "{text}"
        );
        assert!(text.contains("more than noise") && text.ends_with("more)."), "{text}");
        assert!(large.more_than_noise == Some(true) && large.low_percent.unwrap() > 0.0, "{large:?}");
        assert!(pair(&second, &first).sentence.ends_with("less)."));
        let small = pair(&first, &platform("array-c", &[1.7, 2.0, 1.85]));
        assert!(small.sentence.contains("noise could make") && small.more_than_noise == Some(false));
    }

    #[test]
    fn a_difference_within_a_step_may_be_noise_though_repeats_agree() {
        let [first, near, far] =
            [("a", 2.0), ("b", 2.1), ("c", 2.3)].map(|(name, value)| platform(name, &[value; 3]));
        assert!(pair(&first, &near).sentence.contains("noise could make"));
        assert!(pair(&first, &far).sentence.contains("more than noise"));
    }

    #[test]
    fn a_platform_without_a_number_is_not_compared_and_a_single_search_shows_no_noise() {
        let first = platform("a", &[2.0, 2.1]);
        let unknown = pair(&first, &open_platform("b"));
        assert_eq!(unknown.sentence, "a and b can't be compared: there is no number for b.");
        assert!(unknown.percent.is_none() && unknown.more_than_noise.is_none());
        let single = pair(&first, &platform("c", &[9.0]));
        assert!(single.sentence.contains("with 1 search on a side"), "{single:?}");
        assert!(single.percent.is_some() && single.more_than_noise.is_none());
    }

    #[test]
    fn a_twin_is_compared_with_its_original_alone() {
        let twin = Platform { twin_of: Some("a".into()), ..platform("a.again", &[2.0, 2.1]) };
        let all = [platform("a", &[2.0, 2.1]), platform("b", &[3.0, 3.1]), twin];
        let pairs = pairs(&all, Confidence::default()).into_iter();
        let names: Vec<_> = pairs.map(|pair| (pair.first, pair.second)).collect();
        let wanted = [("a", "b"), ("a", "a.again")].map(|(one, other)| (one.to_owned(), other.to_owned()));
        assert_eq!(names, wanted);
    }
}
