//! The verbs at a gateway that says what it is told to: what is sent, byte for byte, and how each ends.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use clap::Parser;
use manifold_admin::{AskEvent, CommandError, ErrorCode, ItemPage, ListedItem, QuestionAnswer};
use serde_json::value::RawValue;

use super::asker::Asker;
use super::gateway::{Asked, Gateway};
use super::inbox::{Inbox, Interrupts, News};
use super::person::{Line, Person, Prompt};
use crate::cli::AskCommand;
use crate::output::{Exit, Failure};

/// Answers as it was told to, and remembers what it was sent.
#[derive(Default)]
struct Fake {
    events: Mutex<Vec<Result<AskEvent, Failure>>>,
    /// Kept open after the last event.
    stays: bool,
    sent: Mutex<Vec<String>>,
    hung_up: Arc<AtomicBool>,
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn item(name: &str, server: &str, original: &str, definition: &str) -> ListedItem {
    let (name, server, original) = (name.to_owned(), server.to_owned(), original.to_owned());
    ListedItem { name, server, original, description: None, bytes: 0, item: Some(raw(definition)) }
}

impl Fake {
    fn that_says(events: Vec<AskEvent>) -> Self {
        Self { events: Mutex::new(events.into_iter().map(Ok).collect()), ..Self::default() }
    }

    fn with_result(result: &str) -> Self {
        Self::that_says(vec![AskEvent::Result { result: raw(result) }])
    }

    fn with_error(code: ErrorCode) -> Self {
        Self::that_says(vec![AskEvent::Error { error: CommandError::new(code, "because") }])
    }

    fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap().clone()
    }
}

impl Gateway for Fake {
    fn items(&self, path: &str) -> Result<ItemPage, Failure> {
        self.sent.lock().unwrap().push(format!("GET {path}"));
        let tools = [
            item(
                "t__add",
                "t",
                "add",
                r#"{"name":"t__add","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}}"#,
            ),
            item("t__say", "t", "say", r#"{"name":"t__say","inputSchema":{"type":"object"}}"#),
            item("u__say", "u", "say", r#"{"name":"u__say"}"#),
        ];
        let prompts = vec![item(
            "t__review",
            "t",
            "review",
            r#"{"name":"t__review","arguments":[{"name":"language","required":true},{"name":"style"}]}"#,
        )];
        let is_second = path.contains("cursor=2%20");
        let failed = vec![manifold_admin::FailedServer {
            server: "broken".to_owned(),
            message: "no program".to_owned(),
        }];
        Ok(match (path.starts_with("/v1/tools"), is_second) {
            (true, false) => ItemPage {
                next_cursor: Some("2 ".to_owned()),
                items: tools[..1].to_vec(),
                failed,
                ..ItemPage::default()
            },
            (true, true) => ItemPage { items: tools[1..].to_vec(), failed, ..ItemPage::default() },
            (false, _) => ItemPage { items: prompts, ..ItemPage::default() },
        })
    }

    fn ask(&self, path: &str, body: &RawValue) -> Result<Asked, Failure> {
        self.sent.lock().unwrap().push(format!("POST {path} {}", body.get()));
        let (open, ended) = mpsc::channel::<()>();
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        let rest = std::iter::from_fn(move || {
            // Ends when somebody hangs up.
            let _ = ended.recv();
            None
        });
        let hung_up = Arc::clone(&self.hung_up);
        let open = Mutex::new(self.stays.then_some(open));
        let hang_up = move || {
            hung_up.store(true, Ordering::SeqCst);
            open.lock().unwrap().take();
        };
        Ok(Asked { events: Box::new(events.into_iter().chain(rest)), hang_up: Box::new(hang_up) })
    }

    fn answer(&self, question: &str, answer: &QuestionAnswer) -> Result<(), Failure> {
        let answer = serde_json::to_string(answer).unwrap();
        self.sent.lock().unwrap().push(format!("POST /v1/questions/{question} {answer}"));
        Ok(())
    }
}

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: AskCommand,
}

fn run<'a>(
    gateway: &'a Fake,
    words: &[&str],
    person: Option<&'a mut (dyn Person + 'a)>,
) -> Result<(String, Exit), Failure> {
    run_with(gateway, words, person, Interrupts::default())
}

fn run_with<'a>(
    gateway: &'a Fake,
    words: &[&str],
    person: Option<&'a mut (dyn Person + 'a)>,
    interrupts: Interrupts,
) -> Result<(String, Exit), Failure> {
    let cli = Cli::try_parse_from([&["manifold"], words].concat()).unwrap();
    let mut asker = Asker {
        gateway,
        person,
        interrupts,
        namespace: Some("work & play"),
        environment: None,
        to_terminal: false,
        is_watched: false,
        deadline: super::deadline::Deadline::of(cli.command.how().timeout),
    };
    super::verbs::run(&cli.command, &mut asker).map(|shown| (shown.text, shown.exit))
}

const HOW: &str = r#""namespace":"work & play","answersQuestions":false"#;

#[test]
fn a_call_is_sent_as_its_schema_says() {
    let fake = Fake::with_result(r#"{"content":[{"type":"text","text":"3"}]}"#);
    let ended = run(&fake, &["call", "t.add", "b=00", "a=1"], None).unwrap_err();
    assert_eq!((ended.exit, ended.message.as_str()), (Exit::Usage, "`b` takes an integer, and `00` is none"));
    let hint = "it is called so:\n  t__add(a: integer, b: integer)\n  manifold call t__add a=1 b=1";
    assert_eq!(ended.hint.as_deref(), Some(hint));
    let ended = run(&fake, &["call", "t.add", "b=20000000000000000000", "a=1", "--timeout", "600000"], None);
    assert_eq!(ended.unwrap(), ("3\n".to_owned(), Exit::Ok));
    let sent = fake.sent();
    assert_eq!(sent[0], "GET /v1/tools?full=1&name=t.add&namespace=work%20%26%20play");
    assert_eq!(sent[1], "GET /v1/tools?full=1&name=t.add&namespace=work%20%26%20play&cursor=2%20");
    let body = r#"{"name":"t__add","arguments":{"b":20000000000000000000,"a":1},"namespace":"work & play","timeoutMs":MS,"answersQuestions":false}"#;
    let call = sent.last().unwrap();
    let left: u64 = call.split("\"timeoutMs\":").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!((1..=600_000).contains(&left), "what is left of the time: {left}");
    assert_eq!(call, &format!("POST /v1/call {body}").replace("MS,", &format!("{left},")));
    assert!(sent.iter().any(|sent| sent.contains("&timeoutMs=")), "the search has the same time: {sent:?}");
    let late = run(&fake, &["call", "t.add", "--timeout", "1"], None);
    // It may be over before the first word.
    assert!(late.is_err_and(|late| matches!(late.exit, Exit::TimedOut | Exit::Usage)));
}

#[test]
fn the_other_verbs_send_what_was_typed() {
    let fake = Fake::with_result(r#"{"contents":[{"uri":"a:b","text":"x"}]}"#);
    assert_eq!(run(&fake, &["read", "a:b"], None).unwrap().0, "x\n");
    assert_eq!(fake.sent(), [format!(r#"POST /v1/read {{"uri":"a:b",{HOW}}}"#)]);

    let fake = Fake::with_result(r#"{"messages":[{"role":"user","content":{"type":"text","text":"012"}}]}"#);
    assert_eq!(run(&fake, &["prompt", "review", "language=012"], None).unwrap().0, "012\n");
    let body = format!(r#"{{"name":"t__review","arguments":{{"language":"012"}},{HOW}}}"#);
    assert_eq!(fake.sent().last().unwrap(), &format!("POST /v1/prompt {body}"));
    for (words, why) in [
        (&["prompt", "review"][..], "`language` is missing"),
        (&["prompt", "review", "langage=x"], "there is no argument `langage`; did you mean `language`?"),
        (&["prompt", "review", "language:=1"], "a prompt takes texts alone: write `name=text`"),
        (
            &["complete", "prompt", "review", "language"],
            "`language` is no argument: write `name=value`, or `name:=JSON`",
        ),
    ] {
        let failure = run(&fake, words, None).unwrap_err();
        assert_eq!((failure.exit, failure.message.as_str()), (Exit::Usage, why));
    }

    let fake = Fake::with_result(r#"{"completion":{"values":["rust","ruby"]}}"#);
    let words = ["complete", "uri", "gh://{owner}/{repo}", "owner=o", "repo=ru"];
    assert_eq!(run(&fake, &words, None).unwrap().0, "rust\nruby\n");
    let body = format!(
        r#"{{"uri":"gh://{{owner}}/{{repo}}","argument":"repo","value":"ru","given":{{"owner":"o"}},{HOW}}}"#
    );
    assert_eq!(fake.sent(), [format!("POST /v1/complete {body}")]);
}

#[test]
fn each_end_has_its_code() {
    for (code, exit) in [
        (ErrorCode::UnknownServer, Exit::Unknown),
        (ErrorCode::UnknownNamespace, Exit::Unknown),
        (ErrorCode::Denied, Exit::Denied),
        (ErrorCode::SignIn, Exit::SignIn),
        (ErrorCode::FailedToStart, Exit::Unreachable),
        (ErrorCode::TimedOut, Exit::TimedOut),
        (ErrorCode::BadRequest, Exit::Usage),
        (ErrorCode::ServerError, Exit::Failed),
    ] {
        let failure = run(&Fake::with_error(code), &["call", "t.say"], None).unwrap_err();
        assert_eq!((failure.exit, failure.message.as_str()), (exit, "because"), "{code:?}");
    }
    let tool_failed = Fake::with_result(r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#);
    assert_eq!(run(&tool_failed, &["call", "t.say"], None).unwrap(), ("no\n".to_owned(), Exit::ToolError));
    let several = run(&Fake::default(), &["call", "say"], None).unwrap_err();
    assert_eq!(several.message, "'say' could be t__say or u__say; name one");
    assert_eq!(several.exit, Exit::Usage);
    let broken = run(&Fake::default(), &["call", "broken.x"], None).unwrap_err();
    assert_eq!((broken.exit, broken.message.as_str()), (Exit::Unreachable, "broken: no program"));
    let hung_up = run(&Fake::default(), &["call", "t.say"], None).unwrap_err();
    assert_eq!(hung_up.message, "the gateway hung up before it answered");
}

/// What no list has, the gateway is asked for all the same: it knows the rule that hides it.
#[test]
fn what_is_not_listed_is_for_the_gateway_to_refuse() {
    let fake = Fake::with_error(ErrorCode::UnknownItem);
    let failure = run(&fake, &["call", "t.ad", "x=1"], None).unwrap_err();
    assert_eq!((failure.exit, failure.hint.as_deref()), (Exit::Unknown, Some("did you mean `t__add`?")));
    assert!(
        fake.sent()
            .iter()
            .any(|sent| sent.starts_with(r#"POST /v1/call {"name":"t.ad","arguments":{"x":"1"}"#))
    );
    let failure = run(&Fake::with_error(ErrorCode::Denied), &["call", "t.secret"], None).unwrap_err();
    assert_eq!((failure.exit, failure.hint), (Exit::Denied, None));
}

/// Gives the same answer to everything.
struct Says(&'static str, Vec<String>);

impl Person for Says {
    fn say(&mut self, text: &str) {
        self.1.push(text.to_owned());
    }

    fn line(&mut self, _: &Prompt<'_>, _: &mut Inbox) -> Line {
        Line::Typed(self.0.to_owned())
    }
}

fn with_question() -> Fake {
    let question = r#"{"id":"q7","server":"t","method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"properties":{"n":{"type":"string"}}}}}"#;
    let question = AskEvent::from_sse("question", question).unwrap();
    let result = AskEvent::from_sse("result", r#"{"result":{"content":[]}}"#).unwrap();
    Fake::that_says(vec![
        AskEvent::from_sse("progress", r#"{"params":{"progress":1}}"#).unwrap(),
        question,
        result,
    ])
}

#[test]
fn questions_are_put_to_whoever_is_there() {
    let fake = with_question();
    let mut person = Says("Ann", Vec::new());
    run(&fake, &["call", "t.say"], Some(&mut person)).unwrap();
    assert!(fake.sent().iter().any(|sent| sent.ends_with("\"answersQuestions\":true}")));
    let answer = r#"POST /v1/questions/q7 {"result":{"action":"accept","content":{"n":"Ann"}}}"#;
    assert_eq!(fake.sent().last().unwrap(), answer);
    let nobody = with_question();
    run(&nobody, &["call", "t.say"], None).unwrap();
    assert_eq!(nobody.sent().last().unwrap(), "POST /v1/questions/q7 {}");
}

#[test]
fn an_interrupt_hangs_up() {
    // The signal itself is another thread's; what it does is put this into the box.
    let (mut inbox, letterbox) = Inbox::new().unwrap();
    letterbox.put(News::Event(AskEvent::from_sse("progress", r#"{"params":{}}"#).unwrap()));
    assert!(!inbox.ends("q"));
    letterbox.put(News::Event(AskEvent::Withdrawn { id: "other".to_owned() }));
    assert!(!inbox.ends("q"));
    letterbox.put(News::Interrupted);
    assert!(inbox.ends("q"));
    for _ in 0..2 {
        assert!(matches!(inbox.next(), News::Event(_)));
    }
    assert!(matches!(inbox.next(), News::Interrupted));

    let fake = Fake { stays: true, ..Fake::default() };
    let interrupts = Interrupts::default();
    let failure = std::thread::scope(|scope| {
        let running = scope.spawn(|| run_with(&fake, &["call", "t.say"], None, interrupts.clone()));
        while !interrupts.interrupt() {
            std::thread::yield_now();
        }
        running.join().unwrap().unwrap_err()
    });
    assert_eq!(failure.exit, Exit::Interrupted);
    assert!(fake.hung_up.load(Ordering::SeqCst));
}

/// What it would be called with is not the matter: a server's name and a tool's, typed apart, is no tool with an argument.
#[test]
fn what_is_not_there_is_said_before_how_it_is_called() {
    let fake = Fake::default();
    let ended = run(&fake, &["call", "t", "add"], None).unwrap_err();
    assert_eq!((ended.exit, ended.message.as_str()), (Exit::Unknown, "there is no tool 't'"));
    assert_eq!(ended.hint.as_deref(), Some("'t' is a server; `manifold tools --server t` lists what it has"));
    let ended = run(&fake, &["call", "t__ad", "a"], None).unwrap_err();
    assert_eq!(ended.hint.as_deref(), Some("did you mean `t__add`?"));
    assert!(!fake.sent().iter().any(|sent| sent.starts_with("POST")), "nothing was called");
}
