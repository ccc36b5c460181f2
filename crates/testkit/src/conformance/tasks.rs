//! Tools that may become tasks: for a client with the Tasks extension they do, for a legacy one they never can.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, ErrorData, InputRequest, InputResponses, JsonObject,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskOptions};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::catalog::typed;
use super::questions::{Outcome, Retry, Script, elicit_one, is_modern};
use super::server::Server;
use super::tools::{failure, string, text};

/// The questions of a job that asks while it is a task already.
type Asks = Option<Script>;

impl Server {
    /// Runs one of the jobs; `None` if the tool is none.
    pub(super) async fn call_job(
        &self,
        name: &str,
        arguments: &JsonObject,
        retry: Retry,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<CallToolResponse, ErrorData>> {
        let (job, asks) = Job::parse(name, arguments)?;
        Some(self.run_job(job, asks, retry, context).await)
    }

    async fn run_job(
        &self,
        mut job: Job,
        asks: Asks,
        retry: Retry,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let modern = is_modern(context);
        let may_be_task =
            modern && context.client_capabilities().is_some_and(|client| client.supports_tasks());
        if modern && !may_be_task && job.must_be_task() {
            let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
            return Err(ErrorData::missing_required_client_capability(typed(tasks)));
        }
        if let Job::Greet { asked: true, name } = &mut job {
            let question = json!({"user_name": elicit_one("What is your name?", "name", "string")});
            match Script::new(question).play(retry, context).await? {
                Outcome::Ask(round) => return Ok(round.into()),
                Outcome::Answered(answers) => *name = answer(&answers, "user_name", "name"),
            }
        }
        if may_be_task && job.can_be_task() {
            let work = move |task: TaskContext| -> rmcp::task_manager::TaskFuture {
                Box::pin(async move {
                    let answers = match asks {
                        Some(script) => ask_in_task(&task, script).await?,
                        None => InputResponses::new(),
                    };
                    tokio::select! {
                        () = task.cancelled() => Err(TaskExit::Cancelled),
                        done = job.run(&answers) => done.map_err(TaskExit::Error),
                    }
                })
            };
            return Ok(CreateTaskResult::new(self.tasks.spawn(TaskOptions::default(), work)).into());
        }
        let answers = match asks {
            None => InputResponses::new(),
            Some(script) => {
                match script.play(Retry { answers: InputResponses::new(), state: None }, context).await? {
                    Outcome::Answered(answers) => answers,
                    Outcome::Ask(round) => return Ok(round.into()),
                }
            }
        };
        Ok(job.run(&answers).await?.into())
    }
}

enum Job {
    Greet { name: String, asked: bool },
    Compute { label: String, sleeps: Duration },
    Fail,
    Break,
    Delete { filename: String },
    Join,
}

impl Job {
    fn parse(tool: &str, arguments: &JsonObject) -> Option<(Self, Asks)> {
        Some(match tool {
            "greet" => (Self::Greet { name: string(arguments, "name").to_owned(), asked: false }, None),
            "test_tool_with_task" => (Self::Greet { name: String::new(), asked: true }, None),
            "slow_compute" => {
                let seconds = arguments.get("seconds").and_then(Value::as_f64).unwrap_or(1.0);
                let sleeps = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                (Self::Compute { label: string(arguments, "label").to_owned(), sleeps }, None)
            }
            "failing_job" => (Self::Fail, None),
            "protocol_error_job" => (Self::Break, None),
            "confirm_delete" => {
                let filename = string(arguments, "filename").to_owned();
                let question = elicit_one(&format!("Delete {filename}?"), "confirm", "boolean");
                (Self::Delete { filename }, Some(Script::new(json!({"confirm": question}))))
            }
            "multi_input" => {
                let question = |which| elicit_one(&format!("Value {which}, please"), "value", "string");
                (Self::Join, Some(Script::new(json!({"input-a": question("A"), "input-b": question("B")}))))
            }
            _ => return None,
        })
    }

    fn can_be_task(&self) -> bool {
        !matches!(self, Self::Greet { asked: false, .. })
    }

    fn must_be_task(&self) -> bool {
        matches!(self, Self::Fail | Self::Delete { .. } | Self::Join | Self::Greet { asked: true, .. })
    }

    async fn run(self, answers: &InputResponses) -> Result<CallToolResult, ErrorData> {
        match self {
            Self::Greet { name, .. } => Ok(text(&format!("Hello, {name}!"))),
            Self::Compute { label, sleeps } => {
                sleep(sleeps).await;
                Ok(text(&format!("Computed {label} in {} s", sleeps.as_secs_f64())))
            }
            Self::Fail => {
                sleep(Duration::from_secs(1)).await;
                Ok(failure("The job failed, as it should."))
            }
            Self::Break => {
                sleep(Duration::from_millis(200)).await;
                Err(ErrorData::internal_error("the job broke, as it should", None))
            }
            Self::Delete { filename } => {
                let confirmed = answers["confirm"]["content"]["confirm"] == true;
                Ok(text(&format!("{filename} {}", if confirmed { "is deleted" } else { "stays" })))
            }
            Self::Join => {
                let value = |key| answer(answers, key, "value");
                Ok(text(&format!("A is {}, B is {}", value("input-a"), value("input-b"))))
            }
        }
    }
}

fn answer(answers: &InputResponses, key: &str, field: &str) -> String {
    answers[key]["content"][field].as_str().unwrap_or("nothing").to_owned()
}

/// Asks everything at once, so that one question can be answered while another is still open.
async fn ask_in_task(task: &TaskContext, script: Script) -> Result<InputResponses, TaskExit> {
    let mut questions = script.questions().into_iter();
    let ask = async |question: Option<(String, InputRequest)>| -> Result<Option<(String, Value)>, TaskExit> {
        let Some((key, question)) = question else { return Ok(None) };
        Ok(Some((key.clone(), task.request_input(key, question).await?)))
    };
    let (first, second) = tokio::join!(ask(questions.next()), ask(questions.next()));
    Ok([first?, second?].into_iter().flatten().collect())
}
