//! What a server asks while it works on a call: a form is asked field by field, an address is shown and waited for.

mod field;
mod format;

#[cfg(test)]
mod tests;

use manifold_admin::QuestionAnswer;
use manifold_protocol::Raw;
use serde_json::value::RawValue;

use super::arguments::schema::Schema;
use super::inbox::Inbox;
use super::person::{Line, Person, Prompt};
use field::Field;

/// A question of a server's.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) server: Option<String>,
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
}

/// What came of a question.
#[derive(Debug)]
pub(crate) enum Said {
    Answer(QuestionAnswer),
    /// It ended before it was answered.
    Nothing,
}

/// Puts a question to somebody.
pub(crate) fn put(question: &Question, person: &mut dyn Person, inbox: &mut Inbox) -> Said {
    let params = question.params.as_deref().and_then(|params| Raw::parse(params.get().to_owned()).ok());
    let params = params.unwrap_or_else(|| Raw::from_static("{}"));
    let server = question.server.as_deref().unwrap_or("the server");
    let text = |member: &str| params.get(member).and_then(|text| Some(text.to_text()?.into_owned()));
    if question.method != "elicitation/create" {
        person.say(&format!("{server} asks for `{}`, which this command declines", question.method));
        return declined();
    }
    person.say(&format!("{server} asks: {}", text("message").unwrap_or_default()));
    match text("mode").as_deref() {
        Some("url") => visit(&text("url").unwrap_or_default(), question, person, inbox),
        None | Some("form") => {
            let schema = params.get("requestedSchema").map_or_else(Schema::silent, Schema::new);
            fill_in(&schema, question, person, inbox)
        }
        Some(other) => {
            person.say(&format!("it asks by way of `{other}`, which this command does not know"));
            declined()
        }
    }
}

/// Asks for every field of a form.
fn fill_in(schema: &Schema, question: &Question, person: &mut dyn Person, inbox: &mut Inbox) -> Said {
    let fields: Vec<Field> = schema.members().into_iter().map(Field::from).collect();
    if fields.is_empty() {
        return confirm("Send your consent? [Y/n] ", "{}", question, person, inbox);
    }
    person.say("(Enter takes what stands in brackets, Ctrl-D declines)");
    let mut content = Vec::new();
    for field in &fields {
        loop {
            let text = field.prompt();
            let prompt = Prompt { text: &text, question: &question.id, is_secret: field.is_secret() };
            match person.line(&prompt, inbox) {
                Line::Declined => return declined(),
                Line::Gone => return Said::Nothing,
                Line::Typed(typed) => match field.value(&typed) {
                    Ok(Some(value)) => {
                        content.push(format!("{}:{value}", Raw::string(&field.name).as_str()));
                        break;
                    }
                    Ok(None) => break,
                    Err(why) => person.say(&format!("  {why}")),
                },
            }
        }
    }
    accepted(Some(&format!("{{{}}}", content.join(","))))
}

/// Shows an address to go to, and asks whether that is done. Nothing opens it: where it leads is for people to judge.
fn visit(url: &str, question: &Question, person: &mut dyn Person, inbox: &mut Inbox) -> Said {
    person.say(&format!("Open this address if you trust it:\n  {url}"));
    confirm("Done? [Y/n] ", "", question, person, inbox)
}

fn confirm(
    text: &str,
    content: &str,
    question: &Question,
    person: &mut dyn Person,
    inbox: &mut Inbox,
) -> Said {
    loop {
        match person.line(&Prompt { text, question: &question.id, is_secret: false }, inbox) {
            Line::Gone => return Said::Nothing,
            Line::Declined => return declined(),
            Line::Typed(typed) => match typed.trim().to_lowercase().as_str() {
                "" | "y" | "yes" => return accepted(Some(content).filter(|content| !content.is_empty())),
                "n" | "no" => return declined(),
                _ => person.say("  write y or n"),
            },
        }
    }
}

fn accepted(content: Option<&str>) -> Said {
    let content = content.map_or_else(String::new, |content| format!(",\"content\":{content}"));
    answer(format!("{{\"action\":\"accept\"{content}}}"))
}

fn declined() -> Said {
    answer("{\"action\":\"decline\"}".to_owned())
}

fn answer(result: String) -> Said {
    Said::Answer(QuestionAnswer { result: RawValue::from_string(result).ok() })
}
