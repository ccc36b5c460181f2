//! The numbered lists of `docs/`: each number that code or tests cite has its row, each row names files that exist, and
//! the tests it names cite it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this is a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which page has the rows of which numbers.
const PAGES: [(&str, &[&str]); 5] = [
    ("docs/requirements.md", &["S0-", "S1-", "S2-", "S3-", "S4-"]),
    ("docs/decisions.md", &["decision "]),
    ("docs/threats.md", &["T"]),
    ("docs/faults.md", &["F"]),
    ("docs/security.md", &["H", "M", "L", "D"]),
];

/// A number by what stands before it: `S1-` and 42, `F` and 7, `decision ` and 17.
type Number = (&'static str, u32);

struct Row {
    page: &'static str,
    number: Number,
    lives_in: String,
    tested_in: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns whatever is below a folder, as paths from the root.
fn below(folder: &str) -> Vec<String> {
    let root = root();
    let mut folders = vec![root.join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.ends_with("node_modules") {
                // Others' code, which may be put there or taken away just now.
            } else if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/"));
            }
        }
    }
    files
}

/// Returns all that may cite: code, tests, scripts and pages, by their paths from the root.
fn sources() -> BTreeMap<String, String> {
    let named = ["check", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(str::to_owned);
    let folders = ["crates", "fuzz/checks", "fuzz/fuzz_targets", "interop", "bench", "docs"];
    let is_text = |file: &String| {
        let name = file.rsplit('/').next().unwrap();
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        matches!(extension, None | Some("rs" | "py" | "mjs" | "cjs" | "js" | "md"))
    };
    let files = named.into_iter().chain(folders.into_iter().flat_map(below)).filter(is_text);
    // The examples below are no citations.
    let texts = files.filter(|file| file != "crates/app/tests/papers.rs").filter_map(|file| {
        let text = fs::read_to_string(root().join(&file)).ok()?;
        Some((file, text))
    });
    let sources: BTreeMap<String, String> = texts.collect();
    assert!(sources.len() > 400, "found only {} files", sources.len());
    sources
}

/// Returns the number that this word is.
fn number(word: &str) -> Option<Number> {
    let prefixes = PAGES.iter().flat_map(|(_, prefixes)| prefixes.iter());
    prefixes.copied().find_map(|prefix| Some((prefix, plain_number(word.strip_prefix(prefix)?)?)))
}

/// Returns a number of one or two digits, the first of which is not zero.
fn plain_number(digits: &str) -> Option<u32> {
    let is_plain = (1..=2).contains(&digits.len()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| is_plain && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Cuts a text into words and the signs between them. A comment that goes on in the next line is one text.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for line in text.lines() {
        let mut rest = line.trim_start().trim_start_matches(['/', '!', '#']);
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
            let end = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("..") {
                2
            } else {
                first.len_utf8()
            };
            let (word, after) = rest.split_at(end);
            if !word.trim().is_empty() {
                words.push(word);
            }
            rest = after;
        }
    }
    words
}

/// Returns every number a text cites: alone, in a list (`decisions 6, 7 and 9`) or in a range (`F5 to F10`, `S1-1..S1-3`).
fn citations(text: &str) -> BTreeSet<Number> {
    let words = words(text);
    let mut cited = BTreeSet::new();
    let is_range = |at: usize| matches!(words.get(at), Some(&("to" | "..")));
    let mut at = 0;
    while at < words.len() {
        let word = words[at];
        at += 1;
        if let Some((prefix, first)) = number(word) {
            let last = words.get(at + 1).and_then(|word| number(word)).filter(|(other, _)| *other == prefix);
            let last = last.filter(|_| is_range(at)).map_or(first, |(_, last)| last);
            cited.extend((first..=last).map(|number| (prefix, number)));
        }
        let is_list = word.eq_ignore_ascii_case("decisions");
        if !is_list && !word.eq_ignore_ascii_case("decision") {
            continue;
        }
        while let Some(first) = words.get(at).and_then(|word| plain_number(word)) {
            let last = words.get(at + 1 + 1).and_then(|word| plain_number(word)).filter(|_| is_range(at + 1));
            cited.extend((first..=last.unwrap_or(first)).map(|number| ("decision ", number)));
            at += if last.is_some() { 3 } else { 1 };
            if !is_list || !matches!(words.get(at), Some(&("," | "and"))) {
                break;
            }
            at += 1;
        }
    }
    cited
}

/// Returns the rows of all pages. The head of each table says which column is which.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (page, prefixes) in PAGES {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let mut head: Vec<&str> = Vec::new();
        for line in text.lines() {
            let Some(line) = line.strip_prefix("| ") else { continue };
            let cells: Vec<&str> = line.trim_end_matches('|').split(" | ").map(str::trim).collect();
            if cells.contains(&"tested in") {
                head = cells;
                continue;
            }
            let named = if prefixes == ["decision "] {
                plain_number(cells[0]).map(|number| ("decision ", number))
            } else {
                number(cells[0]).filter(|(prefix, _)| prefixes.contains(prefix))
            };
            let Some(number) = named else { continue };
            let cell = |name: &str| {
                let at = head.iter().position(|head| *head == name).expect("a column of that name");
                (*cells.get(at).unwrap_or(&"")).to_owned()
            };
            rows.push(Row { page, number, lives_in: cell("lives in"), tested_in: cell("tested in") });
        }
    }
    rows
}

fn show((prefix, number): &Number) -> String {
    format!("{prefix}{number}")
}

/// Returns the paths that a cell names, from the root.
fn paths(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(spelled_out)
}

/// Returns the whole path of a file as the pages name it.
fn spelled_out(file: &str) -> String {
    match file.split_once('/') {
        Some(("interop" | "fuzz" | "bench" | "docs" | "examples", _)) => file.to_owned(),
        None if !file.ends_with(".rs") => file.to_owned(),
        None | Some(("it" | "daemon" | "strain", _)) => format!("crates/app/tests/{file}"),
        Some((krate, rest)) if rest.starts_with("tests/") => format!("crates/{krate}/{rest}"),
        Some((krate, rest)) => format!("crates/{krate}/src/{rest}"),
    }
}

#[test]
fn every_citation_has_its_row() {
    let known: BTreeSet<Number> = rows().iter().map(|row| row.number).collect();
    let mut wrong = Vec::new();
    // What a compiler wrote cites nothing.
    for (file, text) in sources().into_iter().filter(|(file, _)| !file.starts_with("crates/dashboard/dist/"))
    {
        let unknown = citations(&text).into_iter().filter(|number| !known.contains(number));
        wrong.extend(unknown.map(|number| format!("{file} cites {}", show(&number))));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_number_has_one_row_in_order() {
    let rows = rows();
    for (page, prefixes) in PAGES {
        let of_page = |prefix: &str| {
            let rows = rows.iter().filter(move |row| row.page == page && row.number.0 == prefix);
            rows.map(|row| row.number.1).collect::<Vec<u32>>()
        };
        // Attacks are counted through: H1 to H4, M5 to M13, L14 to L18.
        for prefix in prefixes {
            let numbers = of_page(prefix);
            let first = numbers.first().copied().unwrap_or_else(|| panic!("{page} has no {prefix}"));
            let expected: Vec<u32> = (first..).take(numbers.len()).collect();
            assert_eq!(numbers, expected, "{page}: {prefix}");
            assert!(first == 1 || ["M", "L"].contains(prefix), "{page}: {prefix} begins with {first}");
        }
    }
}

/// What was asked of signing in, row by row, is shown by tests that are there.
#[test]
fn every_row_of_signing_in_names_its_tests() {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let rows = page.lines().skip_while(|line| !line.ends_with("| shown by |")).skip(2);
    let rows: Vec<&str> = rows.take_while(|line| line.starts_with("| ")).collect();
    let numbers: Vec<u32> = rows.iter().filter_map(|row| row.split(' ').nth(1)?.parse().ok()).collect();
    assert_eq!(numbers, (1..=29).collect::<Vec<u32>>());
    let code: String =
        sources().into_iter().filter(|(file, _)| !file.ends_with(".md")).map(|(_, text)| text).collect();
    let mut wrong = Vec::new();
    for row in rows {
        let shown = row.rsplit(" | ").next().unwrap();
        let names: Vec<&str> =
            shown.split('`').skip(1).step_by(2).filter(|name| !name.starts_with('-')).collect();
        let is_there =
            |name: &&&str| ["fn ", "def ", ""].iter().any(|word| code.contains(&format!("{word}{name}(")));
        assert!(!names.is_empty(), "{row}");
        wrong.extend(names.iter().filter(|name| !is_there(name)).map(|name| format!("{name} of {row}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_a_row_names_is_there() {
    let mut wrong = Vec::new();
    for row in rows() {
        let tested = if row.tested_in.starts_with("not tested: ") { "" } else { &row.tested_in };
        for path in paths(&row.lives_in).chain(paths(tested)) {
            let at = root().join(&path);
            if !at.exists() || at.is_dir() != path.ends_with('/') {
                wrong.push(format!("{}: {path}", show(&row.number)));
            }
        }
        let is_built = !row.tested_in.starts_with("not tested: ");
        if is_built && row.lives_in.is_empty() {
            wrong.push(format!("{} lives nowhere", show(&row.number)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_number_is_tested_where_its_row_says() {
    let sources = sources();
    let cited: BTreeMap<&str, BTreeSet<Number>> =
        sources.iter().map(|(file, text)| (file.as_str(), citations(text))).collect();
    let mut wrong = Vec::new();
    for row in rows().into_iter().filter(|row| !row.tested_in.starts_with("not tested: ")) {
        let tests: Vec<String> = paths(&row.tested_in).collect();
        if tests.is_empty() {
            wrong.push(format!("{} has no test", show(&row.number)));
        }
        for test in tests {
            let is_there =
                |file: &str| if test.ends_with('/') { file.starts_with(&test) } else { file == test };
            if !cited.iter().any(|(file, numbers)| is_there(file) && numbers.contains(&row.number)) {
                wrong.push(format!("{test} does not cite {}", show(&row.number)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn citations_are_found_however_they_are_written() {
    let check = |text: &str, expected: &[&str]| {
        let found: BTreeSet<String> = citations(text).iter().map(show).collect();
        assert_eq!(found, expected.iter().map(|&number| number.to_owned()).collect(), "{text}");
    };
    check("// F15", &["F15"]);
    check("// T9, H2: a key", &["T9", "H2"]);
    check("/// Ends it (S1-3..S1-5).", &["S1-3", "S1-4", "S1-5"]);
    check("// F5 to\n// F7 and M10", &["F5", "F6", "F7", "M10"]);
    check("// Decision 17's companion", &["decision 17"]);
    check(
        "// decisions 2, 4 to 6 and 36: 7 files",
        &["decision 2", "decision 4", "decision 5", "decision 6", "decision 36"],
    );
    check("// Decision 25, 10 at a time", &["decision 25"]);
    check("let T08 = F_1 + f7_x; // S5-1, S1-420, F007", &[]);
}
