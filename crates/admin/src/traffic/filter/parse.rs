//! What is typed → words. Every error says where.

use regex::RegexBuilder;

use super::super::{Direction, FrameKind, FrameStatus, Hop};
use super::FilterError;
use super::word::{Comparison, Order, Pattern, Status, Test, Word};

const KEYS: [&str; 13] = [
    "server", "tool", "method", "client", "hop", "dir", "kind", "status", "took", "size", "call", "id",
    "since",
];

/// A regular expression may not grow past this when it is made ready.
const MAX_REGEX_BYTES: usize = 1 << 20;

const HOPS: [(&str, Hop); 2] = [hop(Hop::Client), hop(Hop::Server)];
const DIRECTIONS: [(&str, Direction); 2] = [("in", Direction::In), ("out", Direction::Out)];
const KINDS: [(&str, FrameKind); 7] = [
    kind(FrameKind::Request),
    kind(FrameKind::Response),
    kind(FrameKind::Error),
    kind(FrameKind::Notification),
    kind(FrameKind::Stderr),
    kind(FrameKind::Http),
    kind(FrameKind::Life),
];
const STATUSES: [(&str, Status); 6] = [
    ended(FrameStatus::Ok),
    ended(FrameStatus::Error),
    ("pending", Status::Pending),
    ended(FrameStatus::Cancelled),
    ended(FrameStatus::Timeout),
    ended(FrameStatus::Late),
];

const fn hop(hop: Hop) -> (&'static str, Hop) {
    (hop.as_str(), hop)
}

const fn kind(kind: FrameKind) -> (&'static str, FrameKind) {
    (kind.as_str(), kind)
}

const fn ended(status: FrameStatus) -> (&'static str, Status) {
    (status.as_str(), Status::Ended(status))
}

const TIMES: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];
/// Times and sizes are smaller.
const MOST: f64 = u64::MAX as f64;

const SIZES: [(&str, u64); 8] = [
    ("", 1),
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
];

/// Reads all words of a filter.
pub(super) fn words(source: &str) -> Result<Vec<Word>, FilterError> {
    let mut reader = Reader { chars: source.chars().collect(), at: 0 };
    let mut words = Vec::new();
    while reader.skip_blanks() {
        words.push(reader.word()?);
    }
    Ok(words)
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

/// One of the values between `|`.
struct Value {
    at: usize,
    text: String,
    form: Form,
}

#[derive(PartialEq, Eq)]
enum Form {
    Plain,
    Quoted,
    Regex,
}

impl Reader {
    fn skip_blanks(&mut self) -> bool {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.peek().is_some()
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn word(&mut self) -> Result<Word, FilterError> {
        let is_negated = self.peek() == Some('!');
        self.at += usize::from(is_negated);
        let begin = self.at;
        let key: String = self.chars.iter().skip(begin).take_while(|c| c.is_ascii_alphabetic()).collect();
        let is_keyed = !key.is_empty() && self.chars.get(begin + key.len()) == Some(&':');
        let test = if is_keyed {
            if !KEYS.contains(&key.as_str()) {
                let keys = KEYS.map(|key| format!("{key}:")).join(" ");
                let message =
                    format!("there is no `{key}:`; there are {keys}; put a text with a colon in quotes");
                return Err(error(begin, message));
            }
            self.at = begin + key.len() + 1;
            let values = self.values()?;
            test(&key, self.at, values)?
        } else {
            Test::Text(patterns(self.values()?)?)
        };
        Ok(Word { is_negated, test })
    }

    /// Reads `a|"b c"|/d/`.
    fn values(&mut self) -> Result<Vec<Value>, FilterError> {
        let mut values = vec![self.value()?];
        while self.peek() == Some('|') {
            self.at += 1;
            values.push(self.value()?);
        }
        match self.peek() {
            Some(next) if !next.is_whitespace() => Err(error(
                self.at,
                format!("`{next}` follows what has ended; put a blank or `|` between them"),
            )),
            _ => Ok(values),
        }
    }

    fn value(&mut self) -> Result<Value, FilterError> {
        let begin = self.at;
        let (text, form) = match self.peek() {
            Some('"') => (self.enclosed('"', "this quote is not closed")?, Form::Quoted),
            Some('/') => (self.enclosed('/', "this regular expression has no `/` at its end")?, Form::Regex),
            _ => {
                let rest = self.chars.iter().skip(begin);
                let text: String =
                    rest.take_while(|c| !c.is_whitespace() && !matches!(c, '|' | '"')).collect();
                self.at += text.chars().count();
                (text, Form::Plain)
            }
        };
        if text.is_empty() {
            return Err(error(begin, "a value is missing here".to_owned()));
        }
        Ok(Value { at: begin, text, form })
    }

    /// Reads up to the same mark again; a backslash before it makes it a plain one.
    fn enclosed(&mut self, mark: char, unclosed: &str) -> Result<String, FilterError> {
        let begin = self.at;
        self.at += 1;
        let mut text = String::new();
        while let Some(next) = self.peek() {
            self.at += 1;
            match next {
                '\\' if self.peek() == Some(mark) => {
                    text.push(mark);
                    self.at += 1;
                }
                '\\' if mark == '"' && self.peek() == Some('\\') => {
                    text.push('\\');
                    self.at += 1;
                }
                next if next == mark => return Ok(text),
                next => text.push(next),
            }
        }
        Err(error(begin, unclosed.to_owned()))
    }
}

fn test(key: &str, end: usize, values: Vec<Value>) -> Result<Test, FilterError> {
    Ok(match key {
        "server" => Test::Server(patterns(values)?),
        "tool" => Test::Tool(patterns(values)?),
        "method" => Test::Method(patterns(values)?),
        "client" => Test::Client(patterns(values)?),
        "id" => Test::Id(patterns(values)?),
        "hop" => Test::Hop(each(&values, |value| one_of(value, &HOPS))?),
        "dir" => Test::Dir(each(&values, |value| one_of(value, &DIRECTIONS))?),
        "kind" => Test::Kind(each(&values, |value| one_of(value, &KINDS))?),
        "status" => Test::Status(each(&values, status)?),
        "call" => Test::Call(each(&values, call)?),
        "took" => Test::Took(comparison(single(&values, end)?, &TIMES, "a time, such as 200ms or 5s")?),
        "size" => Test::Size(comparison(single(&values, end)?, &SIZES, "a size, such as 500, 64KiB or 1MB")?),
        _ => {
            let value = single(&values, end)?;
            Test::Since(amount(&value.text, value.at, &TIMES, "a time, such as 30s, 5m or 1h")?)
        }
    })
}

fn each<T>(values: &[Value], read: impl Fn(&Value) -> Result<T, FilterError>) -> Result<Vec<T>, FilterError> {
    values.iter().map(read).collect()
}

fn single(values: &[Value], end: usize) -> Result<&Value, FilterError> {
    match values {
        [value] => Ok(value),
        [_, second, ..] => Err(error(second.at, "only one value can stand here".to_owned())),
        [] => Err(error(end, "a value is missing here".to_owned())),
    }
}

fn one_of<T: Copy>(value: &Value, words: &[(&str, T)]) -> Result<T, FilterError> {
    let found = words.iter().find(|(word, _)| *word == value.text && value.form != Form::Regex);
    found.map(|(_, meant)| *meant).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        error(value.at, format!("`{}` is none of {}", value.text, words.join(", ")))
    })
}

/// A word, or the code of an error or of an HTTP answer.
fn status(value: &Value) -> Result<Status, FilterError> {
    match value.text.parse() {
        Ok(code) => Ok(Status::Code(code)),
        Err(_) => one_of(value, &STATUSES).map_err(|mut wrong| {
            wrong.message.push_str(", nor a code");
            wrong
        }),
    }
}

fn call(value: &Value) -> Result<u64, FilterError> {
    let number = value.text.parse();
    number.map_err(|_| error(value.at, format!("`{}` is no number of a call", value.text)))
}

fn comparison(value: &Value, units: &[(&str, u64)], wanted: &str) -> Result<Comparison, FilterError> {
    let orders = [
        (">=", Order::AtLeast),
        ("<=", Order::AtMost),
        (">", Order::Above),
        ("<", Order::Below),
        ("=", Order::Equal),
    ];
    let found = orders.iter().find_map(|(sign, order)| Some((*order, value.text.strip_prefix(sign)?)));
    let (order, text) = found.unwrap_or((Order::AtLeast, &value.text));
    let at = value.at + value.text.len() - text.len();
    Ok(Comparison { order, limit: amount(text, at, units, wanted)? })
}

/// Reads `1.5s` as the smallest unit of its kind.
fn amount(text: &str, at: usize, units: &[(&str, u64)], wanted: &str) -> Result<u64, FilterError> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.to_ascii_lowercase();
    let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let number: Option<f64> = number.parse().ok();
    match (number, factor) {
        (Some(number), Some(factor)) if number * factor as f64 >= MOST => {
            Err(error(at, format!("`{text}` is more than can be compared with")))
        }
        (Some(number), Some(factor)) => Ok((number * factor as f64) as u64),
        _ => Err(error(at, format!("`{text}` is not {wanted}"))),
    }
}

fn patterns(values: Vec<Value>) -> Result<Vec<Pattern>, FilterError> {
    values.into_iter().map(pattern).collect()
}

fn pattern(value: Value) -> Result<Pattern, FilterError> {
    if value.form != Form::Regex {
        return Ok(Pattern::Literal(value.text));
    }
    let regex = RegexBuilder::new(&value.text).size_limit(MAX_REGEX_BYTES).build();
    regex.map(Pattern::Regex).map_err(|wrong| {
        // The engine draws a picture over several lines; its last says what it is.
        let said = wrong.to_string();
        let said = said.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        error(value.at, format!("this regular expression cannot be used: {said}"))
    })
}

fn error(at: usize, message: String) -> FilterError {
    FilterError { column: at + 1, message }
}
