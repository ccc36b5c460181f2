//! Calls that somebody else has put together: made as they are, with nobody to answer questions.

use std::collections::HashMap;

use manifold_admin::{AskOptions, CallRequest};
use manifold_admin_client::segment;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::conversation::Conversation;
use super::gateway::Gateway as _;
use super::inbox::Interrupts;
use super::progress::ProgressLine;
use crate::commands::source::failure;
use crate::commands::verb::Verb;
use crate::operator::{Need, Operator};
use crate::output::{Exit, Failure};

/// A list that goes on for ever is none.
const MAX_PAGES: usize = 1000;

/// A gateway that calls are made by again.
pub(crate) struct Again<'a> {
    operator: Operator,
    interrupts: Interrupts,
    namespace: Option<&'a str>,
}

/// Whom calls are made by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// The gateway that runs; where none does, servers are started for this command.
    Running,
    /// Servers that are started for this command, whoever else runs, and end with it.
    Fresh,
}

/// What a tool says of its effects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Hints {
    #[serde(rename = "readOnlyHint")]
    pub(crate) read_only: bool,
    #[serde(rename = "destructiveHint")]
    pub(crate) destructive: Option<bool>,
}

impl<'a> Again<'a> {
    pub(crate) fn reach(whom: Whom, verb: &Verb<'a>) -> Result<Self, Failure> {
        // Before there is a second thread.
        let interrupts =
            Interrupts::catch().map_err(|error| Failure::new(Exit::Failed, "failed", error.to_string()))?;
        let operator = match whom {
            Whom::Running => {
                Operator::reach(verb.options, verb.flags, verb.options.program_profile, Need::Servers)
            }
            Whom::Fresh => Operator::alone(verb.options, verb.flags),
        };
        let operator = operator.map_err(|why| failure(&why))?;
        verb.output.detail(&format!("asked {}", operator.which()));
        verb.check_config(operator.about(), &operator.which())?;
        Ok(Self { operator, interrupts, namespace: verb.flags.namespace.as_deref() })
    }

    /// Returns what every tool says of its effects, of one server or of all there are.
    pub(crate) fn hints(&self, server: Option<&str>) -> Result<HashMap<String, Hints>, Failure> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Tool {
            annotations: Hints,
        }
        let mut hints = HashMap::new();
        let mut cursor = None::<String>;
        for _ in 0..MAX_PAGES {
            let mut path = "/v1/tools?full=1".to_owned();
            for (name, value) in
                [("namespace", self.namespace), ("server", server), ("cursor", cursor.as_deref())]
            {
                if let Some(value) = value {
                    path.push_str(&format!("&{name}={}", segment(value)));
                }
            }
            let page = self.operator.items(&path)?;
            for item in page.items {
                let tool = item.item.and_then(|tool| serde_json::from_str::<Tool>(tool.get()).ok());
                hints.insert(item.name, tool.unwrap_or_default().annotations);
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(hints)
    }

    /// Makes a call and returns its result as the server gave it.
    pub(crate) fn call(
        &self,
        tool: &str,
        arguments: Option<Box<RawValue>>,
    ) -> Result<Box<RawValue>, Failure> {
        let how = AskOptions {
            namespace: self.namespace.map(str::to_owned),
            client: self.operator.asks_with(),
            timeout_ms: None,
            answers_questions: false,
        };
        let request = CallRequest { name: tool.to_owned(), arguments, how };
        let body = to_raw_value(&request)
            .map_err(|error| Failure::new(Exit::Failed, "failed", error.to_string()))?;
        let mut conversation = Conversation {
            gateway: &self.operator,
            person: None,
            progress: ProgressLine::new(false),
            interrupts: self.interrupts.clone(),
        };
        conversation.ask("/v1/call", &body)
    }
}
