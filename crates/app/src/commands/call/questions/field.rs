//! One field of a form: how it is asked for, and what may be typed there.

use manifold_protocol::Raw;

use super::super::arguments::convert::{convert, expected, shown};
use super::super::arguments::schema::{Branch, Kind, Schema};
use super::format::Format;

/// More choices than these are not listed.
const MAX_CHOICES: usize = 40;

/// A field of a form.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    schema: Schema,
    is_required: bool,
}

impl From<(String, Schema, bool)> for Field {
    fn from((name, schema, is_required): (String, Schema, bool)) -> Self {
        Self { name, schema, is_required }
    }
}

impl Field {
    /// Returns whether what is typed must not be seen.
    pub(super) fn is_secret(&self) -> bool {
        let is_hidden = self.schema.value("writeOnly").and_then(|hidden| hidden.bool()) == Some(true);
        is_hidden || self.schema.text("format").as_deref() == Some("password")
    }

    /// Returns what stands before the cursor: `  age: how old you are (an integer, 18 to 99) [42] `.
    pub(super) fn prompt(&self) -> String {
        let about = self.schema.own_text("description").or_else(|| self.schema.own_text("title"));
        // One line, whatever the server wrote.
        let about =
            about.map_or_else(String::new, |about| about.split_whitespace().collect::<Vec<_>>().join(" "));
        let about = if about.is_empty() { about } else { format!(" {about}") };
        let needed = if self.is_required && self.default().is_none() { ", required" } else { "" };
        let default = match self.default() {
            Some(_) if self.is_secret() => " [as before]".to_owned(),
            Some(default) => format!(" [{}]", self.typed(&default)),
            None => String::new(),
        };
        format!("  {}:{about} ({}{}{needed}){default} ", self.name, self.kind(), self.bounds())
    }

    /// Returns the value of what was typed; `None`: the field is left out.
    pub(super) fn value(&self, typed: &str) -> Result<Option<String>, String> {
        if typed.is_empty() {
            return match self.default() {
                Some(default) => Ok(Some(default.as_str().to_owned())),
                None if self.is_required => Err(format!("`{}` is required; Ctrl-D declines", self.name)),
                None => Ok(None),
            };
        }
        let misfit = || format!("`{}` takes {}", self.name, self.kind());
        let value = match self.is_list() {
            true => {
                let items = self.schema.items();
                let parts = typed.split(',').map(str::trim).filter(|part| !part.is_empty());
                let parts: Option<Vec<String>> = parts.map(|part| chosen(part, &items)).collect();
                parts.map(|parts| format!("[{}]", parts.join(",")))
            }
            false => chosen(typed, &self.schema),
        };
        let value = value.ok_or_else(misfit)?;
        match self.format() {
            Some(format) if !format.fits(typed) => {
                Err(format!("`{}` takes {}", self.name, format.expected()))
            }
            _ if self.is_within_bounds(&value) => Ok(Some(value)),
            _ => Err(format!("{}{}", misfit(), self.bounds())),
        }
    }

    /// Returns the form that a text must have, where it is one that is known.
    fn format(&self) -> Option<Format> {
        let is_text = self.schema.branches().iter().any(|branch| branch.kinds().contains(&Kind::String));
        self.schema.text("format").filter(|_| is_text).and_then(|format| Format::of(&format))
    }

    fn default(&self) -> Option<Raw> {
        self.schema.value("default")
    }

    fn is_list(&self) -> bool {
        self.schema.branches().iter().any(|branch| branch.kinds().contains(&Kind::Array))
    }

    /// Returns a value as one would type it.
    fn typed(&self, value: &Raw) -> String {
        match value.elements() {
            Some(elements) => elements.iter().map(shown).collect::<Vec<_>>().join(", "),
            None => shown(value),
        }
    }

    fn kind(&self) -> String {
        let of = if self.is_list() { self.schema.items() } else { self.schema.clone() };
        let choices = choices(&of);
        if choices.is_empty() || choices.len() > MAX_CHOICES {
            return self
                .format()
                .map_or_else(|| expected(&self.schema), |format| format.expected().to_owned());
        }
        let with_title = |(value, title): &(Raw, Option<String>)| match title {
            Some(title) if *title != shown(value) => format!("{} ({title})", shown(value)),
            _ => shown(value),
        };
        let listed: Vec<String> = choices.iter().map(with_title).collect();
        let how_many = if self.is_list() { "any of" } else { "one of" };
        format!("{how_many} {}", listed.join(", "))
    }

    /// Says within what a value must be: `, 18 to 99`.
    fn bounds(&self) -> String {
        let unit = match () {
            () if self.is_list() => " choices",
            () if self.number("minLength").or(self.number("maxLength")).is_some() => " characters",
            () => "",
        };
        match self.limits() {
            (Some(least), Some(most)) => format!(", {least} to {most}{unit}"),
            (Some(least), None) => format!(", at least {least}{unit}"),
            (None, Some(most)) => format!(", at most {most}{unit}"),
            (None, None) => String::new(),
        }
    }

    fn limits(&self) -> (Option<f64>, Option<f64>) {
        let first = |words: [&str; 3]| words.into_iter().find_map(|word| self.number(word));
        (first(["minimum", "minLength", "minItems"]), first(["maximum", "maxLength", "maxItems"]))
    }

    fn number(&self, keyword: &str) -> Option<f64> {
        self.schema.value(keyword)?.as_str().parse().ok()
    }

    fn is_within_bounds(&self, value: &str) -> bool {
        let Ok(value) = Raw::parse(value.to_owned()) else { return false };
        let count = |count: usize| u32::try_from(count).ok().map(f64::from);
        let size = match (value.elements(), value.to_text()) {
            (Some(elements), _) => count(elements.len()),
            (_, Some(text)) => count(text.chars().count()),
            _ => value.as_str().parse().ok(),
        };
        let (least, most) = self.limits();
        let Some(size) = size else { return true };
        least.is_none_or(|least| size >= least) && most.is_none_or(|most| size <= most)
    }
}

fn choices(schema: &Schema) -> Vec<(Raw, Option<String>)> {
    schema.branches().iter().flat_map(Branch::titled_options).collect()
}

/// Returns a value by its text, or by what it is called.
fn chosen(typed: &str, schema: &Schema) -> Option<String> {
    let by_title = || {
        let titled = choices(schema).into_iter().find(|(_, title)| title.as_deref() == Some(typed));
        titled.map(|(value, _)| value.as_str().to_owned())
    };
    convert(typed, schema).or_else(by_title).or_else(|| convert(yes_or_no(typed)?, schema))
}

/// Returns what somebody means who answers as people do.
fn yes_or_no(typed: &str) -> Option<&'static str> {
    match typed.to_ascii_lowercase().as_str() {
        "y" | "yes" => Some("true"),
        "n" | "no" => Some("false"),
        _ => None,
    }
}
