//! A gateway that was found to be asked, in the words of these commands.

use std::io::{self, IsTerminal as _};
use std::iter;
use std::process::ExitCode;
use std::time::Duration;

use manifold_admin::{AskEvent, ItemPage, Method, QuestionAnswer};
use manifold_admin_client::{Client, ClientError, SseEvent, segment};
use serde_json::value::RawValue;

use super::Place;
use super::deadline::Deadline;
use super::gateway::{Asked, Gateway};
use super::inbox::Interrupts;
use crate::cli::AskCommand;
use crate::commands::source::failure;
use crate::commands::verb::Verb;
use crate::operator::{Need, Operator};
use crate::output::{Exit, Failure};

/// How long a list may take, with servers that are started for it.
const PATIENCE: Duration = Duration::from_secs(300);

type Events = Box<dyn Iterator<Item = Result<AskEvent, Failure>> + Send>;

/// Carries out a command: by the gateway that runs, else by one of its own.
pub(crate) fn ask(command: &AskCommand, verb: &Verb<'_>) -> Result<ExitCode, Failure> {
    let deadline = Deadline::of(command.how().timeout);
    // Before there is a second thread.
    let interrupts = Interrupts::catch().map_err(|error| failed(&error))?;
    let patience = deadline.enforce(&verb.output);
    let operator = Operator::reach(verb.options, verb.flags, verb.options.program_profile, Need::Servers)
        .map_err(|why| failure(&why))?;
    verb.output.detail(&format!("asked {}", operator.which()));
    verb.check_config(operator.about(), &operator.which())?;
    let place = Place {
        gateway: &operator,
        interrupts,
        namespace: verb.flags.namespace.as_deref(),
        environment: operator.asks_with(),
        is_watched: io::stderr().is_terminal(),
        deadline,
        patience,
    };
    super::run(command, place)
}

impl Gateway for Operator {
    fn items(&self, path: &str) -> Result<ItemPage, Failure> {
        Ok(connect(self)?.get(path)?)
    }

    fn ask(&self, path: &str, body: &RawValue) -> Result<Asked, Failure> {
        let client = connect(self)?;
        let stopper = client.stopper().map_err(|error| failed(&error))?;
        let (path, body) = (path.to_owned(), body.to_owned());
        // Asked by whoever reads the events, so that Ctrl-C is heard also before the first word of an answer.
        let opened = iter::once_with(move || client.events(Method::Post, &path, Some(&body)));
        let events = opened.flat_map(|opened| match opened {
            Ok(stream) => Box::new(stream.filter_map(read)) as Events,
            Err(error) => Box::new(iter::once(Err(error.into()))),
        });
        Ok(Asked { events: Box::new(events), hang_up: Box::new(move || stopper.shutdown()) })
    }

    fn answer(&self, question: &str, answer: &QuestionAnswer) -> Result<(), Failure> {
        let path = format!("/v1/questions/{}", segment(question));
        connect(self)?.send_raw(Method::Post, &path, Some(answer))?;
        Ok(())
    }
}

fn read(heard: Result<SseEvent, ClientError>) -> Option<Result<AskEvent, Failure>> {
    match heard {
        // What is not known is passed over.
        Ok(heard) => AskEvent::from_sse(&heard.event, &heard.data).map(Ok),
        Err(error) => Some(Err(error.into())),
    }
}

fn connect(operator: &Operator) -> Result<Client, Failure> {
    operator.client(PATIENCE).map_err(|error| failed(&error))
}

fn failed(error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, "unreachable", error.to_string())
}
