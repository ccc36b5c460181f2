//! A result of MCP as it is printed: text as it is, everything else as JSON, files into the folder that was named.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use manifold_protocol::Raw;

use super::save::{Saved, save};
use crate::output::{Exit, Failure, escaped_json, escaped_text};

/// How a result is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) form: Form,
    /// Where images, sound and other files go.
    pub(crate) out: Option<PathBuf>,
    /// Whether it goes to a terminal, which must not obey it.
    pub(crate) to_terminal: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Form {
    #[default]
    Text,
    /// The result itself, on a line of its own.
    Json,
    /// The bytes of the result and nothing else.
    Raw,
}

/// What is printed, and how the command ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) exit: Exit,
    /// What of it could not be shown or kept; all else is in the text.
    pub(crate) failure: Option<Failure>,
}

/// Where the blocks of a result are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Of `tools/call`.
    Call,
    /// Of `resources/read`.
    Read,
    /// Of `prompts/get`.
    Prompt,
    /// Of `completion/complete`.
    Complete,
}

/// Returns what a result looks like. `name` is what files are named after that have no name of their own.
pub(crate) fn show(result: &str, answer: Answer, name: &str, wanted: &Wanted) -> Result<Shown, Failure> {
    let malformed = |_| Failure::new(Exit::Failed, "server-error", "the server's result is not JSON");
    let result = Raw::parse(result.to_owned()).map_err(malformed)?;
    let is_error = answer == Answer::Call && result.get("isError").and_then(|is| is.bool()) == Some(true);
    let exit = if is_error { Exit::ToolError } else { Exit::Ok };
    let mut page = Page { text: String::new(), name, wanted, failure: None };
    match answer {
        Answer::Call => page.call(&result),
        Answer::Read => page.contents(&result),
        Answer::Prompt => page.messages(&result),
        Answer::Complete => page.completions(&result),
    }
    let failure = page.failure.take();
    let text = match wanted.form {
        Form::Text => std::mem::take(&mut page.text),
        Form::Json => format!("{}\n", page.json(&result)),
        Form::Raw => page.json(&result),
    };
    Ok(Shown { text, exit, failure })
}

struct Page<'a> {
    text: String,
    name: &'a str,
    wanted: &'a Wanted,
    /// The first thing that went wrong: one bad block takes none of the others along.
    failure: Option<Failure>,
}

impl Page<'_> {
    fn call(&mut self, result: &Raw) {
        let blocks = result.get("content").and_then(|content| content.elements()).unwrap_or_default();
        for block in &blocks {
            self.block(block);
        }
        let has_text = blocks.iter().any(|block| text_of(block, "type").as_deref() == Some("text"));
        if let Some(structured) = result.get("structuredContent").filter(|_| !has_text) {
            let json = self.json(&structured);
            self.line(&json);
        }
    }

    fn contents(&mut self, result: &Raw) {
        for content in result.get("contents").and_then(|contents| contents.elements()).unwrap_or_default() {
            match text_of(&content, "text") {
                Some(text) => self.as_is(&text),
                None => self.file(&content, &content, "blob"),
            }
        }
    }

    fn messages(&mut self, result: &Raw) {
        let messages = result.get("messages").and_then(|messages| messages.elements()).unwrap_or_default();
        for message in &messages {
            // Who says what matters to people; a pipe gets the texts.
            if self.wanted.to_terminal && messages.len() > 1 {
                let role = text_of(message, "role").unwrap_or_default();
                self.line(&format!("[{}]", escaped_text(&role)));
            }
            let content = message.get("content").unwrap_or_else(Raw::null);
            for block in content.elements().unwrap_or_else(|| vec![content]) {
                self.block(&block);
            }
        }
    }

    fn completions(&mut self, result: &Raw) {
        let values = result.path(&["completion", "values"]).and_then(|values| values.elements());
        for value in values.unwrap_or_default() {
            if let Some(value) = value.to_lossy_text() {
                // One a line, whatever is in it: what reads them counts lines.
                self.line(&escaped_text(&value).replace('\n', "\\u{a}"));
            }
        }
    }

    fn block(&mut self, block: &Raw) {
        match text_of(block, "type").as_deref() {
            Some("text") => self.as_is(&text_of(block, "text").unwrap_or_default()),
            Some("image" | "audio") => self.file(block, block, "data"),
            Some("resource") => match block.get("resource").filter(|resource| resource.get("blob").is_some())
            {
                Some(resource) => self.file(block, &resource, "blob"),
                None => self.line(&self.json(block)),
            },
            _ => self.line(&self.json(block)),
        }
    }

    /// Prints where a file was put, or, where no folder was named, the block it came in.
    fn file(&mut self, block: &Raw, holder: &Raw, member: &str) {
        let data = holder.get(member).and_then(|data| data.to_text().map(|data| data.into_owned()));
        let mime = text_of(holder, "mimeType").unwrap_or_default();
        match (data, &self.wanted.out) {
            (Some(data), Some(folder)) => {
                let saved = save(folder, self.name, text_of(holder, "uri").as_deref(), &mime, &data);
                let Saved { path, bytes } = match saved {
                    Ok(saved) => saved,
                    Err(failure) => {
                        self.failure.get_or_insert(failure);
                        return;
                    }
                };
                let size = if self.wanted.to_terminal { format!(" ({bytes} bytes)") } else { String::new() };
                self.line(&format!("{}{size}", path.display()));
            }
            // Nobody reads base64.
            (Some(data), None) if self.wanted.to_terminal => {
                let mime = escaped_text(if mime.is_empty() { "data" } else { &mime });
                self.line(&format!("[{mime}, about {} bytes; --out DIR keeps it]", data.len() / 4 * 3));
            }
            _ => self.line(&self.json(block)),
        }
    }

    /// Prints a text as it is; in a terminal, what it would obey is spelled out.
    fn as_is(&mut self, text: &str) {
        if self.wanted.to_terminal { self.line(&escaped_text(text)) } else { self.line(text) }
    }

    fn json(&self, value: &Raw) -> String {
        if self.wanted.to_terminal {
            escaped_json(value.as_str()).into_owned()
        } else {
            value.as_str().to_owned()
        }
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        if !text.ends_with('\n') {
            self.text.push('\n');
        }
    }
}

fn text_of(object: &Raw, member: &str) -> Option<String> {
    object.get(member)?.to_lossy_text().map(std::borrow::Cow::into_owned)
}
