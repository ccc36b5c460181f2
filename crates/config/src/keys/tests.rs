//! `docs/config.md` has every key with its type, default and meaning as the table has them, and an example that is right.

use std::path::Path;

use super::table::TOP;
use super::{Key, Kind, Range, Section, Unit};
use crate::check::check;
use crate::problem::Problems;
use crate::syntax::Syntax;

fn page() -> String {
    page_of("docs/config.md")
}

fn page_of(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// Returns every section once, each before those within it.
fn sections() -> Vec<&'static Section> {
    fn within(kind: &Kind, found: &mut Vec<&'static Section>) {
        match kind {
            Kind::Section(section) | Kind::Map(section) | Kind::List(section)
                if !found.iter().any(|known| known.name == section.name) =>
            {
                found.push(section);
                section.keys.iter().for_each(|key| within(&key.kind, found));
            }
            Kind::OneOf(kinds) => kinds.iter().for_each(|kind| within(kind, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    within(&Kind::Section(&TOP), &mut found);
    found
}

/// Returns the lines under the heading that ends with the section's name.
fn block<'a>(page: &'a str, section: &Section) -> Vec<&'a str> {
    let heading = format!("`{}`", section.name);
    let mut lines = page.lines().skip_while(|line| !(line.starts_with('#') && line.ends_with(&heading)));
    assert!(lines.next().is_some(), "docs/config.md has no heading for {heading}");
    lines.take_while(|line| !line.starts_with('#')).collect()
}

fn type_of(kind: &Kind) -> String {
    match kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Choice(choices) => {
            let quoted = choices.iter().map(|choice| format!("`{}`", choice.escape_debug()));
            quoted.collect::<Vec<_>>().join(", ")
        }
        Kind::Number(Range { min, max, unit, .. }) => {
            let unit = match unit {
                Unit::Plain => "",
                Unit::Milliseconds => " ms",
                Unit::Seconds => " s",
            };
            format!("{min} to {max}{unit}")
        }
        Kind::Size => "size".to_owned(),
        Kind::Texts => "list of texts".to_owned(),
        Kind::TextMap => "texts by name".to_owned(),
        Kind::FlagMap => "true or false by name".to_owned(),
        Kind::Members => "object".to_owned(),
        Kind::Section(section) => format!("`{}`", section.name),
        Kind::Map(section) => format!("`{}` by name", section.name),
        Kind::List(section) => format!("list of `{}`", section.name),
        Kind::OneOf(kinds) => {
            let used = kinds.iter().filter(|kind| !matches!(kind, Kind::Unused));
            used.map(type_of).collect::<Vec<_>>().join(", or ")
        }
        Kind::Unused => "anything".to_owned(),
    }
}

fn row(key: &Key) -> String {
    format!("| `{}` | {} | {} | {} |", key.name, type_of(&key.kind), key.default, key.about)
}

fn is_unused(key: &&Key) -> bool {
    matches!(key.kind, Kind::Unused)
}

#[test]
fn every_key_is_on_the_page() {
    let page = page();
    let mut missing = Vec::new();
    for section in sections() {
        let block = block(&page, section);
        for key in section.keys.iter().filter(|key| !is_unused(key)) {
            let row = row(key);
            if !block.iter().any(|line| line.starts_with(&row)) {
                missing.push(format!("{}: {row} `...` |", section.name));
            }
        }
        let unused = block.join(" ");
        let unused = unused.split_once("Accepted and not used:").map_or("", |(_, names)| names);
        for key in section.keys.iter().filter(is_unused) {
            if !unused.contains(&format!("`{}`", key.name)) {
                missing.push(format!("{}: `{}` among those not used", section.name, key.name));
            }
        }
    }
    assert!(missing.is_empty(), "not in docs/config.md:\n{}", missing.join("\n"));
}

#[test]
fn every_key_on_the_page_is_one() {
    let page = page();
    for section in sections() {
        let rows = block(&page, section).into_iter().filter_map(|line| line.strip_prefix("| `"));
        let names: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        for name in &names {
            assert!(section.key(name).is_some(), "`{name}` is no key of `{}`", section.name);
        }
        let used = section.keys.iter().filter(|key| !is_unused(key)).count();
        assert_eq!(names.len(), used, "a key of `{}` stands there twice", section.name);
    }
}

#[test]
fn every_example_on_the_page_is_right() {
    let page = page();
    for section in sections() {
        for line in block(&page, section).into_iter().filter(|line| line.starts_with("| `")) {
            let example = line.trim_end_matches(['|', ' ']).rsplit(" | ").next().unwrap();
            let example = example.trim_matches('`');
            let mut problems = Problems::default();
            let read = Syntax::Json.read(&format!("{{{example}}}"), &mut problems);
            let read = read.unwrap_or_else(|_| panic!("{line}")).unwrap();
            let object = read.object().unwrap();
            let name = line.split('`').nth(1).unwrap();
            assert!(object.members.contains_key(name), "{line}");
            check(object, section, "", &mut problems);
            assert_eq!(problems.into_sorted(), [], "{line}");
        }
    }
}

#[test]
fn every_file_on_the_pages_is_right() {
    for name in ["README.md", "docs/config.md"] {
        let page = page_of(name);
        let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
        let files = blocks.iter().filter_map(|block| block.strip_prefix("jsonc\n"));
        let files = files.chain(blocks.iter().filter_map(|block| block.strip_prefix("json\n")));
        let mut count = 0;
        for file in files {
            let mut problems = Problems::default();
            let read = Syntax::Json.read(file, &mut problems).unwrap_or_else(|_| panic!("{name}: {file}"));
            check(read.unwrap().object().unwrap(), &TOP, "", &mut problems);
            assert_eq!(problems.into_sorted(), [], "{name}: {file}");
            count += 1;
        }
        assert!(count >= 2, "{name} has {count} files");
    }
}
