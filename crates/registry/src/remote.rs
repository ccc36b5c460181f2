//! A server somebody else runs.

use std::collections::BTreeSet;

use crate::address::check_url;
use crate::flaw::{Flaw, Refused, Shown};
use crate::plan::{Plan, Start};
use crate::server_json::Transport;
use crate::template::{Context, Lacking, Outer, Piece, Questions, Template, parts};
use crate::text::check_value;

impl Transport {
    /// Returns how it would be reached.
    pub(crate) fn plan(&self, id: &str) -> Result<Plan, Refused> {
        let kind = match self.kind.as_str() {
            "streamable-http" => "http",
            "sse" => "sse",
            other => return Err(Flaw::Transport(Shown::new(other)).at("type")),
        };
        let mut questions = Questions::default();
        let url = self.url(&mut questions)?;
        let headers = self.headers(&mut questions)?;
        let start = Start::Remote { kind, url, headers };
        Ok(Plan { id: id.to_owned(), questions: questions.0, remarks: Vec::new(), start })
    }

    fn url(&self, questions: &mut Questions) -> Result<Template, Refused> {
        let url = self.url.as_deref().ok_or_else(|| Flaw::Missing.at("url"))?;
        check_value(url).map_err(|flaw| flaw.at("url"))?;
        let mut pieces = Vec::new();
        for part in parts(url) {
            pieces.push(match part.name {
                None => Piece::Text(part.whole.to_owned()),
                Some(name) => {
                    let variable = self.variables.get(name);
                    let variable =
                        variable.ok_or_else(|| Flaw::UnknownVariable(name.to_owned()).at("url"))?;
                    // There is no address with a hole in it.
                    let outer = Outer { is_required: true, is_secret: false, is_repeated: false };
                    variable
                        .piece(name, outer, questions)
                        .map_err(|flaw| flaw.at(format!("variables.{}", Shown::new(name))))?
                }
            });
        }
        let url = Template(pieces);
        if !matches!(url.0.first(), Some(Piece::Answer(_))) {
            let example = url.fill(&vec![vec!["x".to_owned()]; questions.0.len()], Lacking::IsEmpty);
            // Parts that must not meet make no address.
            let example = example.unwrap_or_default();
            check_url(example.first().map_or("", String::as_str)).map_err(|flaw| flaw.at("url"))?;
        }
        Ok(url)
    }

    fn headers(&self, questions: &mut Questions) -> Result<Vec<(String, Template)>, Refused> {
        let mut names = BTreeSet::new();
        let mut headers = Vec::new();
        for header in &self.headers {
            let name = &header.name;
            if name.len() > 128 || name.parse::<http::HeaderName>().is_err() {
                return Err(Flaw::HeaderName(Shown::new(name)).at("headers"));
            }
            if !names.insert(name.to_ascii_lowercase()) {
                continue;
            }
            let context = Context { questions, place: format!("headers.{name}"), name, is_repeated: false };
            headers.push((name.clone(), header.input.template(&header.variables, context)?));
        }
        Ok(headers)
    }
}
