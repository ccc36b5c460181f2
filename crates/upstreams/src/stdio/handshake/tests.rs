use std::sync::Mutex;

use expect_test::{Expect, expect};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::*;
use crate::fake::{Does, FakeHost, connection, lock, run, server};

const DISCOVERED: &str = r#"{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}"#;
const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;

/// What the server does with a greeting.
#[derive(Clone, Copy)]
enum To {
    Says(&'static str),
    Refuses(i32),
    Late(&'static str),
    LateAndGoes(&'static str),
    Ignores,
    Exits,
}

/// Shows what a handshake comes to, what was said, and when it was over.
async fn check(plan: Plan, discover: To, initialize: To, expected: Expect) {
    let host = Arc::new(FakeHost::default());
    let (one, logs) = (connection("", &host), Arc::new(LogRing::default()));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let began = Instant::now();
    let (seen, peer) = (Arc::clone(&heard), Arc::clone(&one));
    let end = Mutex::new(JoinSet::new());
    let _server = run(Arc::clone(&one), move |method, _| {
        lock(&seen).push(format!("{method}@{}", began.elapsed().as_millis()));
        match if method == "server/discover" { discover } else { initialize } {
            To::Says(result) => Does::Answer(result.to_owned()),
            To::Refuses(code) => Does::Refuse(format!(r#"{{"code":{code},"message":"m"}}"#)),
            To::Late(result) => Does::AnswerAfter(Duration::from_secs(3), result.to_owned()),
            To::LateAndGoes(result) => {
                let peer = Arc::clone(&peer);
                end.lock().unwrap().spawn(async move {
                    sleep(Duration::from_millis(3050)).await;
                    peer.fall_silent();
                });
                Does::AnswerAfter(Duration::from_secs(3), result.to_owned())
            }
            To::Ignores => Does::Nothing,
            To::Exits => {
                peer.close("it ended");
                Does::Nothing
            }
        }
    });
    let (server, host) = (server(r#","startTimeout":20000"#), host as Arc<dyn Host>);
    let deadline = began + Duration::from_secs(20);
    let shake = Handshake { server: &server, host: &host, logs: &logs, connection: &one, deadline };
    let met = match timeout(Duration::from_secs(60), shake.shake(plan)).await.unwrap() {
        Ok((era, said)) => format!("{era:?} {}", said.revision),
        Err(Unmet::Again(plan)) => format!("again {plan:?}"),
        Err(Unmet::Failed(fault)) => fault.message(),
    };
    let took = began.elapsed().as_millis();
    expected.assert_eq(&format!("{met} after {took} ms; {}", lock(&heard).join(" ")));
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_decides() {
    check(
        Plan::Probe,
        To::Says(DISCOVERED),
        To::Ignores,
        expect!["Modern 2026-07-28 after 0 ms; server/discover@0"],
    )
    .await;
    check(
        Plan::Probe,
        To::Refuses(-32022),
        To::Ignores,
        expect!["Modern 2026-07-28 after 0 ms; server/discover@0"],
    )
    .await;
    for code in [-32601, -32602, -32000, -32603] {
        check(
            Plan::Probe,
            To::Refuses(code),
            To::Says(INITIALIZED),
            expect!["Legacy 2025-11-25 after 0 ms; server/discover@0 initialize@0"],
        )
        .await;
    }
    let older = To::Says(r#"{"supportedVersions":["2025-11-25"],"capabilities":{}}"#);
    check(
        Plan::Probe,
        older,
        To::Says(INITIALIZED),
        expect!["Legacy 2025-11-25 after 0 ms; server/discover@0 initialize@0"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn silence_is_no_verdict() {
    check(
        Plan::Probe,
        To::Ignores,
        To::Says(INITIALIZED),
        expect!["Legacy 2025-11-25 after 2000 ms; server/discover@0 initialize@2000"],
    )
    .await;
    // Slow, not deaf: what it answers first counts.
    check(
        Plan::Probe,
        To::Late(DISCOVERED),
        To::Ignores,
        expect!["Modern 2026-07-28 after 3600 ms; server/discover@0 initialize@2000"],
    )
    .await;
    check(
        Plan::Probe,
        To::Late(DISCOVERED),
        To::Refuses(-32022),
        expect!["Modern 2026-07-28 after 3100 ms; server/discover@0 initialize@2000"],
    )
    .await;
    // It answered the first and went for the second.
    check(
        Plan::Probe,
        To::LateAndGoes(DISCOVERED),
        To::Refuses(-32022),
        expect!["again Only(Modern) after 3050 ms; server/discover@0 initialize@2000"],
    )
    .await;
    check(
        Plan::Probe,
        To::Ignores,
        To::Ignores,
        expect!["Server 's' failed to start: no answer to the handshake within 20000 ms after 20000 ms; server/discover@0 initialize@2000"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_at_a_greeting_is_met_by_the_other() {
    check(Plan::Probe, To::Exits, To::Ignores, expect!["again Only(Legacy) after 0 ms; server/discover@0"])
        .await;
    check(
        Plan::Remembered(Era::Modern),
        To::Exits,
        To::Ignores,
        expect!["again Only(Legacy) after 0 ms; server/discover@0"],
    )
    .await;
    check(
        Plan::Remembered(Era::Legacy),
        To::Ignores,
        To::Refuses(-32022),
        expect!["again Only(Modern) after 0 ms; initialize@0"],
    )
    .await;
    // Not all servers that refuse go.
    check(
        Plan::Probe,
        To::Refuses(-32601),
        To::Refuses(-32022),
        expect!["again Only(Modern) after 0 ms; server/discover@0 initialize@0"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_known_is_not_asked() {
    check(
        Plan::Remembered(Era::Legacy),
        To::Says(DISCOVERED),
        To::Says(INITIALIZED),
        expect!["Legacy 2025-11-25 after 0 ms; initialize@0"],
    )
    .await;
    check(
        Plan::Only(Era::Legacy),
        To::Says(DISCOVERED),
        To::Refuses(-32022),
        expect!["Server 's' failed to start: it speaks only the revisions after sessions; its `era` is wrong after 0 ms; initialize@0"],
    )
    .await;
    check(
        Plan::Only(Era::Modern),
        To::Refuses(-32601),
        To::Says(INITIALIZED),
        expect![[r#"Server 's' failed to start: it refused the handshake: {"code":-32601,"message":"m"} after 0 ms; server/discover@0"#]],
    )
    .await;
    check(
        Plan::Only(Era::Modern),
        To::Exits,
        To::Says(INITIALIZED),
        expect!["Server 's' failed to start: it ended at the first question after 0 ms; server/discover@0"],
    )
    .await;
    // It was modern a while ago, and is no more.
    check(
        Plan::Remembered(Era::Modern),
        To::Refuses(-32601),
        To::Says(INITIALIZED),
        expect!["Legacy 2025-11-25 after 0 ms; server/discover@0 initialize@0"],
    )
    .await;
    check(
        Plan::Remembered(Era::Modern),
        To::Ignores,
        To::Says(INITIALIZED),
        expect!["Legacy 2025-11-25 after 10000 ms; server/discover@0 initialize@10000"],
    )
    .await;
}
