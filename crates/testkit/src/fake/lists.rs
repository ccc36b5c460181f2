use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Server;
use super::wire::Reply;

impl Server {
    /// Returns the page of a list that the cursor in `params` asks for.
    pub(super) fn page(&self, key: &str, items: &[String], params: &Value) -> Reply {
        let pages = self.knobs.pages.max(1);
        let page = match &params["cursor"] {
            Value::Null => 0,
            Value::String(cursor) => match self.page_of(cursor) {
                Some(page) => page,
                None => return Reply::error(-32602, "Invalid cursor"),
            },
            _ => return Reply::error(-32602, "Invalid cursor"),
        };
        let size = items.len().div_ceil(pages).max(1);
        let here =
            items.iter().skip(page * size).take(size).map(String::as_str).collect::<Vec<_>>().join(",");
        let next = match page + 1 {
            next if next < pages || self.knobs.endless_cursor => Some(next),
            _ => self.knobs.cyclic_cursor.then_some(1),
        };
        let next =
            next.map(|page| format!(r#","nextCursor":{}"#, json!(self.cursor_of(page)))).unwrap_or_default();
        Reply::Result(format!(r#"{{"{key}":[{here}]{next}}}"#))
    }

    fn cursor_of(&self, page: usize) -> String {
        if page == 1 && self.knobs.empty_cursor { String::new() } else { format!("page-{page}") }
    }

    fn page_of(&self, cursor: &str) -> Option<usize> {
        match cursor.strip_prefix("page-") {
            Some(page) => page.parse().ok(),
            None => (self.knobs.empty_cursor && cursor.is_empty()).then_some(1),
        }
    }

    pub(super) fn read_resource(&self, params: &Value) -> Reply {
        let uri = params["uri"].as_str().unwrap_or_default();
        let listed = self.knobs.resources.iter().any(|resource| member(resource, "uri") == uri);
        let templated = self.knobs.resource_templates.iter().any(|template| {
            let template = member(template, "uriTemplate");
            template.split('{').next().is_some_and(|prefix| !prefix.is_empty() && uri.starts_with(prefix))
        });
        if !listed && !templated {
            let error = json!({"code": -32002, "message": "Resource not found", "data": {"uri": uri}});
            return Reply::Error(error.to_string());
        }
        let text = format!("contents of {uri} from {}", self.knobs.name);
        let contents = json!([{"uri": uri, "mimeType": "text/plain", "text": text}]);
        Reply::Result(json!({"contents": contents}).to_string())
    }

    pub(super) fn prompt(&self, params: &Value) -> Reply {
        let name = params["name"].as_str().unwrap_or_default();
        if !self.knobs.prompts.iter().any(|prompt| member(prompt, "name") == name) {
            return Reply::error(-32602, &format!("Prompt {name} not found"));
        }
        let text = format!("prompt {name} of {} with {}", self.knobs.name, params["arguments"]);
        let messages = json!([{"role": "user", "content": {"type": "text", "text": text}}]);
        Reply::Result(json!({"messages": messages}).to_string())
    }
}

/// Offers two ways to go on from what is already written.
pub(super) fn complete(params: &Value) -> Reply {
    let start = params["argument"]["value"].as_str().unwrap_or_default();
    let values = [format!("{start}-a"), format!("{start}-b")];
    Reply::Result(json!({"completion": {"values": values, "total": 2, "hasMore": false}}).to_string())
}

/// Returns the tool as listed: its own text, with an `inputSchema` where it has none.
pub(super) fn listed_tool(text: &str) -> String {
    let text = text.trim();
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(tool)) if !tool.contains_key("inputSchema") => {
            let comma = if tool.is_empty() { "" } else { "," };
            format!(r#"{}{comma}"inputSchema":{{"type":"object"}}}}"#, &text[..text.len() - 1].trim_end())
        }
        _ => text.to_owned(),
    }
}

pub(super) fn texts(items: &[Box<RawValue>]) -> Vec<String> {
    items.iter().map(|item| item.get().to_owned()).collect()
}

/// Returns a string member of a JSON object, empty if it has none.
pub(super) fn member(object: &RawValue, key: &str) -> String {
    let object: Value = serde_json::from_str(object.get()).unwrap_or_default();
    object[key].as_str().unwrap_or_default().to_owned()
}
