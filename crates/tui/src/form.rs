//! A form made from a JSON schema. What is not filled in is not sent; what cannot be a field is JSON.

mod field;
pub(crate) mod json;
mod schema;

use field::Field;
pub(crate) use field::{Kind, Line};

#[cfg(test)]
mod tests;

/// What is filled in, and which field is being so. One past the last field is the line that sends.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) fields: Vec<Field>,
    pub(crate) at: usize,
    /// What was edited as JSON and is none: it is kept until it is.
    pub(crate) draft: Option<String>,
    /// What is wrong with it.
    pub(crate) flaw: Option<String>,
}

impl Form {
    /// Returns the form for an object of this schema.
    pub(crate) fn new(schema: &str) -> Self {
        let mut fields = schema::fields(schema);
        // What must be given comes first, else in the schema's order.
        fields.sort_by_key(|field| !field.is_required);
        Self { fields, at: 0, draft: None, flaw: None }
    }

    /// Returns a form of plain texts: names, and whether each must be given.
    pub(crate) fn of_texts(names: &[(&str, bool)]) -> Self {
        let fields = names.iter().map(|(name, is_required)| Field::text(name, *is_required)).collect();
        Self { fields, at: 0, draft: None, flaw: None }
    }

    pub(crate) fn next(&mut self) {
        self.at = (self.at + 1).min(self.fields.len());
    }

    pub(crate) fn previous(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.fields.len()
    }

    pub(crate) fn field(&mut self) -> Option<&mut Field> {
        self.fields.get_mut(self.at)
    }

    /// Returns the object, or stays at what is wrong with it.
    pub(crate) fn object(&mut self) -> Option<String> {
        let mut members = Vec::new();
        for (at, field) in self.fields.iter().enumerate() {
            match field.value() {
                Ok(Some(value)) => members.push(format!("{}:{value}", json::string(&field.name))),
                Ok(None) => {}
                Err(why) => {
                    self.flaw = Some(format!("{}: {why}", field.name));
                    self.at = at;
                    return None;
                }
            }
        }
        self.flaw = None;
        Some(format!("{{{}}}", members.join(",")))
    }

    /// Returns what is edited as JSON: what was left unfinished, or what is filled in.
    pub(crate) fn as_json(&self) -> String {
        if let Some(draft) = &self.draft {
            return draft.clone();
        }
        let members = self.fields.iter().filter_map(|field| {
            let value = match field.value() {
                Ok(value) => value?,
                Err(_) if field.line.text.is_empty() => "null".to_owned(),
                // As it is, to be corrected there.
                Err(_) => json::string(&field.line.text),
            };
            Some(format!("  {}: {}", json::string(&field.name), value))
        });
        let members: Vec<String> = members.collect();
        format!("{{\n{}\n}}\n", members.join(",\n"))
    }

    /// Takes over what was edited. What is no JSON is kept to be edited again.
    pub(crate) fn take_json(&mut self, text: &str) {
        let members = match json::members(text) {
            Ok(members) => members,
            Err(why) => {
                self.flaw = Some(format!("this is no JSON object: {why}"));
                self.draft = Some(text.to_owned());
                return;
            }
        };
        (self.draft, self.flaw) = (None, None);
        self.fields.retain(|field| !field.is_extra);
        self.fields.iter_mut().for_each(Field::clear);
        for (name, value) in members {
            match self.fields.iter_mut().find(|field| field.name == name) {
                Some(field) => field.take(&value),
                None => self.fields.push(Field::extra(&name, &value)),
            }
        }
        self.at = self.fields.len();
    }
}
