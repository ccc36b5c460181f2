mod reports;

use std::collections::VecDeque;
use std::sync::Mutex;

use manifold_config::Server;
use manifold_engine::{ClientId, Host};
use manifold_protocol::Method;
use manifold_protocol::dialect::ServerFacts;

use super::backoff::jittered;
use super::*;
use crate::cache::Cache;
use crate::fake::{Asked, Does, FakeHost, lock, raw, run, server};

const SECOND: Duration = Duration::from_secs(1);

/// What one start of the fake server comes to.
enum Start {
    Fails,
    /// Takes this long to fail.
    Hangs(Duration),
    Runs {
        takes: Duration,
        calls: Calls,
        lists: bool,
    },
}

#[derive(Clone, Copy, PartialEq)]
enum Calls {
    Answered,
    Ignored,
}

const RUNS: Start = Start::Runs { takes: Duration::ZERO, calls: Calls::Answered, lists: true };
const SLOW: Start = Start::Runs { takes: Duration::from_secs(3), calls: Calls::Answered, lists: true };
const DEAF: Start = Start::Runs { takes: Duration::ZERO, calls: Calls::Ignored, lists: true };
const LISTLESS: Start = Start::Runs { takes: Duration::ZERO, calls: Calls::Answered, lists: false };

/// What the starts left behind.
#[derive(Default)]
struct Record {
    script: VecDeque<Start>,
    starts: Vec<Instant>,
    /// Ends the present life.
    end: Option<oneshot::Sender<Ending>>,
    alive: usize,
    stops: usize,
}

struct FakeLauncher {
    server: Arc<Server>,
    host: Arc<dyn Host>,
    logs: Arc<LogRing>,
    cache: Cache,
    record: Arc<Mutex<Record>>,
}

struct FakeLife {
    ends: oneshot::Receiver<Ending>,
    ended: bool,
    record: Arc<Mutex<Record>>,
    _server: JoinSet<()>,
}

impl Launcher for FakeLauncher {
    type Life = FakeLife;

    fn server(&self) -> &Arc<Server> {
        &self.server
    }

    fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    fn logs(&self) -> &Arc<LogRing> {
        &self.logs
    }

    fn cache(&self) -> &Cache {
        &self.cache
    }

    async fn launch(&self) -> Result<Running<FakeLife>, Fault> {
        let start = {
            let mut record = lock(&self.record);
            record.starts.push(Instant::now());
            record.script.pop_front().unwrap_or(Start::Fails)
        };
        if let Start::Hangs(takes) = start {
            tokio::time::sleep(takes).await;
        }
        let Start::Runs { takes, calls, lists } = start else {
            return Err(Fault::FailedToStart { server: "s".to_owned(), reason: "no".to_owned() });
        };
        tokio::time::sleep(takes).await;
        let (end, ends) = oneshot::channel();
        let pid = {
            let mut record = lock(&self.record);
            record.end = Some(end);
            record.alive += 1;
            assert_eq!(record.alive, 1, "one process at a time");
            record.starts.len() as u32
        };
        let connection = Connection::new(
            Arc::clone(&self.server),
            Arc::clone(&self.host),
            Arc::clone(&self.logs),
            1 << 20,
        );
        let server = run(Arc::clone(&connection), move |method, _| match method {
            "tools/list" if lists => Does::Answer(r#"{"tools":[{"name":"x"}]}"#.to_owned()),
            "tools/list" => Does::Refuse(r#"{"code":-32603,"message":"not now"}"#.to_owned()),
            _ if calls == Calls::Answered => Does::Answer(pid.to_string()),
            _ => Does::Nothing,
        });
        let life = FakeLife { ends, ended: false, record: Arc::clone(&self.record), _server: server };
        let said = ServerFacts {
            revision: "2025-11-25".to_owned(),
            capabilities: raw(r#"{"tools":{}}"#),
            instructions: None,
        };
        Ok(Running { connection, said, pid: Some(pid), life })
    }
}

impl Life for FakeLife {
    async fn ended(&mut self) -> Ending {
        let ending = (&mut self.ends).await.unwrap();
        self.ended = true;
        ending
    }

    async fn stop(self) {
        if !self.ended {
            lock(&self.record).stops += 1;
            tokio::time::sleep(SECOND / 2).await;
        }
    }
}

impl Drop for FakeLife {
    fn drop(&mut self) {
        lock(&self.record).alive -= 1;
    }
}

struct Stage {
    upstream: Arc<Supervised>,
    record: Arc<Mutex<Record>>,
    host: Arc<FakeHost>,
    began: Instant,
}

fn stage(keys: &str, script: impl IntoIterator<Item = Start>) -> Stage {
    stage_with(Cache::default(), keys, script)
}

fn stage_with(cache: Cache, keys: &str, script: impl IntoIterator<Item = Start>) -> Stage {
    let record = Arc::new(Mutex::new(Record { script: script.into_iter().collect(), ..Record::default() }));
    let host = Arc::new(FakeHost::default());
    let launcher = FakeLauncher {
        server: server(keys),
        host: Arc::clone(&host) as Arc<dyn Host>,
        logs: Arc::default(),
        cache,
        record: Arc::clone(&record),
    };
    let upstream = Supervised::new(launcher, &Tasks::new());
    upstream.introduced();
    Stage { upstream, record, host, began: Instant::now() }
}

impl Stage {
    fn ask(&self) -> Asked {
        let (exchange, asked) = Asked::open(60 * SECOND);
        self.upstream.send(Call::new(Method::ToolsCall, Some(raw("{}"))), exchange);
        asked
    }

    async fn call(&self) -> String {
        self.ask().answered().await
    }

    /// Returns when it was started, in milliseconds.
    fn starts(&self) -> Vec<u64> {
        lock(&self.record).starts.iter().map(|at| (*at - self.began).as_millis() as u64).collect()
    }

    fn stops(&self) -> usize {
        lock(&self.record).stops
    }

    fn crash(&self) {
        self.ends(Ending::Exited { clean: false, how: "with exit code 1".to_owned() });
    }

    fn exit(&self) {
        self.ends(Ending::Exited { clean: true, how: "with exit code 0".to_owned() });
    }

    fn ends(&self, ending: Ending) {
        let end = lock(&self.record).end.take().expect("it is alive");
        assert!(end.send(ending).is_ok());
    }

    fn phase(&self) -> Phase {
        self.upstream.status().phase
    }
}

/// Lets everything that can happen at this moment happen.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

const FAILED: &str = "fault -32001 Server 's' failed to start: no";

// S1-23, S1-24
#[tokio::test(start_paused = true)]
async fn a_server_sleeps_until_it_is_needed() {
    let stage = stage("", [RUNS]);
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!((stage.starts(), stage.phase()), (vec![], Phase::Idle));
    assert_eq!(stage.call().await, "1");
    assert_eq!((stage.starts(), stage.phase()), (vec![60_000], Phase::Ready));
    assert_eq!(stage.upstream.status().pid, Some(1));
}

#[tokio::test(start_paused = true)]
async fn however_many_ask_it_is_started_once() {
    let stage = stage("", [SLOW]);
    let asked: Vec<Asked> = (0..50).map(|_| stage.ask()).collect();
    let ordered = stage.upstream.order(Order::Start);
    let ((), done) = tokio::join!(stage.upstream.discover(), ordered);
    assert_eq!(done, Ok(()));
    assert_eq!(stage.phase(), Phase::Ready);
    for one in asked {
        assert_eq!(one.answered().await, "1");
    }
    assert_eq!(stage.starts(), [0]);
}

// S1-33
#[tokio::test(start_paused = true)]
async fn a_failed_start_is_told_to_all_at_once_and_rested_after() {
    let stage = stage("", []);
    let asked: Vec<Asked> = (0..5).map(|_| stage.ask()).collect();
    let ordered = stage.upstream.order(Order::Start);
    for one in asked {
        assert_eq!(one.answered().await, FAILED);
    }
    assert_eq!(
        ordered.await.map_err(|fault| fault.message()),
        Err("Server 's' failed to start: no".to_owned())
    );
    // The order started it again.
    assert_eq!(stage.starts(), [0, 0]);
    assert!(matches!(stage.phase(), Phase::Failed(_)));
}

// D4, F1: after a failure it is tried again by itself, with rests that double up to five minutes
#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_tried_again_by_itself_ever_more_seldom() {
    let stage = stage("", []);
    stage.upstream.discover().await;
    tokio::time::sleep(40 * 60 * SECOND).await;
    let starts = stage.starts();
    let rests: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let doubled = (0..10).map(|n| 500 << n).chain(std::iter::repeat(300_000));
    for (rest, most) in rests.iter().zip(doubled) {
        let most = most.min(300_000);
        assert!(*rest >= most * 3 / 4 - 1 && *rest <= most + 1, "{rests:?}");
    }
    assert!(rests.len() > 14, "{rests:?}");
    let in_the_first_minute = starts.iter().filter(|start| **start < 60_000).count();
    println!("F1: {in_the_first_minute} starts in the first minute");
    assert!(in_the_first_minute <= 8, "F1");
}

// D4
#[tokio::test(start_paused = true)]
async fn a_list_waits_for_the_first_start_alone() {
    let hangs = || Start::Hangs(10 * SECOND);
    let stage = stage("", [hangs(), hangs(), hangs(), SLOW]);
    stage.upstream.discover().await;
    assert_eq!(stage.began.elapsed(), 10 * SECOND, "the first time nobody knows better");
    // Whether it rests or is being tried, for as long as it does not work.
    while stage.starts().len() < 4 {
        let before = Instant::now();
        stage.upstream.discover().await;
        assert_eq!(before.elapsed(), Duration::ZERO);
        assert!(matches!(stage.phase(), Phase::Failed(_)), "{:?}", stage.phase());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(4 * SECOND).await;
    assert_eq!(stage.phase(), Phase::Ready);
    assert!(stage.upstream.listing().is_some(), "and once it works it is there by itself");
    assert_eq!(stage.host.notices(), ["listing"]);
}

// D4
#[tokio::test(start_paused = true)]
async fn a_call_starts_a_server_that_failed_at_once() {
    let stage = stage("", [Start::Fails, Start::Fails, RUNS]);
    stage.upstream.discover().await;
    assert_eq!(stage.call().await, FAILED, "with what it fails for now");
    assert_eq!(stage.call().await, "3");
    assert_eq!(stage.starts(), [0, 0, 0]);
}

// D4, F1: however many call, one start is in flight, and it is not started in a circle
#[tokio::test(start_paused = true)]
async fn a_flood_of_calls_starts_a_failing_server_seldom() {
    let stage = stage("", (0..1000).map(|_| Start::Hangs(SECOND / 10)));
    let mut calls = 0;
    while stage.began.elapsed() < 60 * SECOND {
        let together: Vec<Asked> = (0..20).map(|_| stage.ask()).collect();
        for one in together {
            assert_eq!(one.answered().await, FAILED);
            calls += 1;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let starts = stage.starts().len();
    println!("F1: {starts} starts for {calls} calls in a minute");
    // Eight by itself, three for the first calls, one in five seconds for all others.
    assert!(starts <= 8 + 3 + 12, "{starts}");
    // The rests it takes by itself are not prolonged by calls.
    let before = stage.starts().len();
    tokio::time::sleep(64 * SECOND).await;
    assert!(stage.starts().len() > before);
}

#[test]
fn only_another_reason_is_news() {
    let mut complaint = Complaint::default();
    assert!(complaint.is_new("it ended with exit code 3"));
    assert!(!complaint.is_new("it ended with exit code 3"));
    assert!(complaint.is_new("no such program"));
    assert!(complaint.is_new("it ended; its log: 10:00:01 pid 12 no database"));
    assert!(!complaint.is_new("it ended; its log: 10:00:07 pid 99 no database"), "a number is no reason");
    complaint.forget();
    assert!(complaint.is_new("it ended; its log: 10:00:07 pid 99 no database"));
}

// F1: servers that fail together do not come back together
#[test]
fn rests_differ_from_server_to_server_and_from_time_to_time() {
    let rests: std::collections::BTreeSet<Duration> =
        (0..20).flat_map(|n| [jittered(SECOND, &format!("s{n}"), 1), jittered(SECOND, "s", n + 2)]).collect();
    assert!(rests.len() > 20, "{rests:?}");
    assert!(rests.iter().all(|rest| *rest <= SECOND && *rest > SECOND.mul_f64(0.74)));
}

#[tokio::test(start_paused = true)]
async fn a_server_nobody_uses_rests_and_no_call_is_lost() {
    let stage = stage(r#","idleTimeout":5000"#, [RUNS, RUNS, RUNS]);
    assert_eq!(stage.call().await, "1");
    tokio::time::sleep(4 * SECOND).await;
    assert_eq!(stage.call().await, "1", "a call starts its time anew");
    tokio::time::sleep(4 * SECOND).await;
    assert_eq!(stage.phase(), Phase::Ready);
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(stage.phase(), Phase::Idle);
    assert!(stage.upstream.listing().is_some(), "what it offers is still known");
    assert_eq!(stage.call().await, "2");
    // A call that comes just as it is told to rest is answered, by this one or the next.
    tokio::time::sleep(5 * SECOND).await;
    let answer = stage.call().await;
    assert!(answer == "2" || answer == "3", "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_told_to_rest_does_so_unless_it_is_at_work() {
    let stage = stage("", [RUNS, DEAF]);
    assert_eq!(stage.upstream.order(Order::Sleep).await, Ok(()), "it does not run");
    assert_eq!(stage.starts().len(), 0);
    assert_eq!(stage.call().await, "1");
    settle().await;
    assert_eq!(stage.upstream.order(Order::Sleep).await, Ok(()));
    tokio::time::sleep(SECOND).await;
    assert_eq!(stage.phase(), Phase::Idle);
    assert!(stage.upstream.listing().is_some(), "what it offers is still known");
    let _in_flight = stage.ask();
    settle().await;
    assert_eq!(stage.upstream.order(Order::Sleep).await, Ok(()));
    tokio::time::sleep(SECOND).await;
    assert_eq!(stage.phase(), Phase::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_somebody_listens_to_does_not_rest() {
    let stage = stage(r#","idleTimeout":5000"#, [RUNS]);
    lock(&stage.host.standing).subscriptions.insert("a://b".to_owned());
    assert_eq!(stage.call().await, "1");
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(stage.phase(), Phase::Ready);
    lock(&stage.host.standing).subscriptions.clear();
    tokio::time::sleep(11 * SECOND).await;
    assert_eq!(stage.phase(), Phase::Idle);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_did_its_work_is_back_at_once() {
    let stage = stage("", [RUNS, RUNS]);
    assert_eq!(stage.call().await, "1");
    stage.crash();
    settle().await;
    assert_eq!((stage.starts(), stage.phase()), (vec![0, 0], Phase::Ready));
    assert_eq!(stage.call().await, "2");
}

#[tokio::test(start_paused = true)]
async fn a_configured_delay_is_kept_even_then() {
    let stage = stage(r#","restartDelay":5000"#, [RUNS, RUNS]);
    stage.call().await;
    stage.crash();
    settle().await;
    assert_eq!(stage.phase(), Phase::Starting);
    tokio::time::sleep(6 * SECOND).await;
    assert_eq!(stage.starts(), [0, 5000]);
}

// A server that only lists and dies would otherwise be started in a circle, without a pause.
#[tokio::test(start_paused = true)]
async fn a_server_that_only_dies_is_given_ever_longer_rests() {
    let stage = stage("", (0..6).map(|_| RUNS));
    stage.upstream.discover().await;
    for _ in 0..5 {
        let started = stage.starts().len();
        stage.crash();
        while stage.starts().len() == started {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        settle().await;
    }
    let starts = stage.starts();
    let rests: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (rest, most) in rests.iter().zip([500, 1000, 2000, 4000, 8000]) {
        assert!(*rest >= most * 3 / 4 && *rest <= most + 100, "{rests:?}");
    }
    assert_eq!(stage.call().await, "6");
}

#[tokio::test(start_paused = true)]
async fn a_crash_fails_the_call_in_flight_once_and_later_ones_wait_for_the_next_life() {
    let stage = stage("", [DEAF, RUNS]);
    let lost = stage.ask();
    settle().await;
    stage.crash();
    assert!(
        lost.answered()
            .await
            .starts_with("fault -32603 Server 's' went away during the call: it ended with exit code 1")
    );
    assert_eq!(stage.call().await, "2", "waits through a short rest");
}

// D4: nor is one of a server that only dies
#[tokio::test(start_paused = true)]
async fn a_long_rest_is_not_waited_out() {
    let stage = stage("", (0..4).map(|_| DEAF).chain([RUNS]));
    stage.upstream.discover().await;
    for rest in [500, 1000, 2000] {
        stage.crash();
        tokio::time::sleep(Duration::from_millis(rest + 2)).await;
    }
    stage.crash();
    settle().await;
    let before = Instant::now();
    stage.upstream.discover().await;
    assert_eq!((before.elapsed(), stage.starts().len()), (Duration::ZERO, 4), "no list waits for it");
    assert_eq!(stage.call().await, "5");
    assert_eq!(before.elapsed(), Duration::ZERO);
}

// A delay in the config is somebody's wish
#[tokio::test(start_paused = true)]
async fn a_configured_delay_is_not_cut_short_by_calls() {
    let stage = stage(r#","restartDelay":5000"#, [DEAF, RUNS]);
    stage.upstream.discover().await;
    stage.crash();
    settle().await;
    let answer = stage.call().await;
    assert!(
        answer.starts_with("fault -32003 Server 's' is not running: it ended with exit code 1"),
        "{answer}"
    );
    assert_eq!(stage.starts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_leaves_in_good_order_sleeps_again() {
    let stage = stage("", [RUNS, RUNS]);
    stage.upstream.discover().await;
    assert_eq!(stage.call().await, "1");
    stage.exit();
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!((stage.starts(), stage.phase()), (vec![0], Phase::Idle));
    assert!(stage.upstream.listing().is_some(), "what it offers is still known");
    assert_eq!(stage.call().await, "2");
}

#[tokio::test(start_paused = true)]
async fn one_that_leaves_in_the_middle_of_a_call_or_is_eager_is_started_again() {
    let busy = stage("", [DEAF, RUNS]);
    let lost = busy.ask();
    settle().await;
    busy.exit();
    assert!(lost.answered().await.starts_with("fault -32603"));
    tokio::time::sleep(SECOND).await;
    assert_eq!(busy.starts().len(), 2);

    let eager = stage(r#","eager":true"#, [RUNS, RUNS]);
    eager.call().await;
    eager.exit();
    settle().await;
    assert_eq!(eager.starts().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_any_more_is_ended_and_replaced() {
    let stage = stage("", [RUNS, RUNS]);
    stage.call().await;
    stage.ends(Ending::Silent);
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(stage.call().await, "2");
}

// Decision 32
#[tokio::test(start_paused = true)]
async fn what_was_stopped_stays_stopped() {
    let stage = stage("", [RUNS, RUNS]);
    stage.upstream.discover().await;
    assert_eq!(stage.upstream.order(Order::Stop).await, Ok(()));
    assert_eq!((stage.stops(), stage.phase()), (1, Phase::Stopped));
    assert!(stage.upstream.listing().is_none());
    assert_eq!(
        stage.call().await,
        "fault -32003 Server 's' is not running: it was stopped; use the servers_start tool to start it"
    );
    stage.upstream.discover().await;
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(stage.upstream.order(Order::Stop).await, Ok(()));
    assert_eq!(stage.starts().len(), 1);
    assert_eq!(stage.upstream.order(Order::Start).await, Ok(()));
    assert_eq!(stage.call().await, "2");
    assert_eq!(stage.upstream.order(Order::Start).await, Ok(()), "it runs already");
    assert_eq!(stage.starts().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn stopping_fails_calls_in_flight_and_those_that_wait() {
    let stage = stage(r#","maxConcurrency":1"#, [DEAF, SLOW]);
    let (in_flight, queued) = (stage.ask(), stage.ask());
    settle().await;
    assert_eq!(stage.upstream.order(Order::Stop).await, Ok(()));
    assert!(
        in_flight
            .answered()
            .await
            .starts_with("fault -32603 Server 's' went away during the call: it was stopped")
    );
    assert!(queued.answered().await.starts_with("fault -32003"));

    let starting = stage.upstream.order(Order::Start);
    let stopping = stage.upstream.order(Order::Stop);
    let (started, stopped) = tokio::join!(starting, async {
        tokio::time::sleep(SECOND).await;
        stopping.await
    });
    assert!(started.is_err(), "it was stopped before it ran");
    assert_eq!((stopped, stage.phase()), (Ok(()), Phase::Stopped));
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_the_old_one_first_and_keeps_what_was_never_sent() {
    let stage = stage(r#","maxConcurrency":1"#, [DEAF, RUNS]);
    let (in_flight, queued) = (stage.ask(), stage.ask());
    settle().await;
    assert_eq!(stage.upstream.order(Order::Restart).await, Ok(()));
    assert_eq!((stage.stops(), stage.starts()), (1, vec![0, 501]));
    assert!(in_flight.answered().await.starts_with("fault -32603"));
    assert_eq!(queued.answered().await, "2");
}

#[tokio::test(start_paused = true)]
async fn a_restart_that_fails_says_so() {
    let stage = stage("", [RUNS]);
    stage.call().await;
    assert!(stage.upstream.order(Order::Restart).await.is_err());
    assert!(matches!(stage.phase(), Phase::Failed(_)));
}

#[tokio::test(start_paused = true)]
async fn an_operator_need_not_wait_for_a_rest_to_end() {
    let stage = stage("", [Start::Fails, RUNS]);
    assert_eq!(stage.call().await, FAILED);
    assert_eq!(stage.upstream.order(Order::Start).await, Ok(()));
    assert_eq!(stage.starts(), [0, 0]);
}

// S1-26
#[tokio::test(start_paused = true)]
async fn a_server_only_an_operator_may_start_is_not_started_by_calls() {
    let stage = stage(r#","eager":false,"lazy":false"#, [RUNS]);
    assert!(stage.call().await.starts_with("fault -32003"));
    stage.upstream.discover().await;
    assert!(stage.starts().is_empty());
    assert_eq!(stage.upstream.order(Order::Start).await, Ok(()));
    assert_eq!(stage.call().await, "1");
}

#[tokio::test(start_paused = true)]
async fn without_restart_a_dead_server_waits_for_the_next_call() {
    let stage = stage(r#","restart":false"#, [RUNS, RUNS]);
    stage.call().await;
    stage.crash();
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(stage.starts().len(), 1);
    assert!(matches!(stage.phase(), Phase::Failed(_)));
    assert_eq!(stage.call().await, "2");
}

// S1-61
#[tokio::test(start_paused = true)]
async fn closing_ends_it_for_good() {
    let running = stage("", [DEAF]);
    let in_flight = running.ask();
    settle().await;
    running.upstream.close(Duration::ZERO).await;
    assert_eq!((running.stops(), lock(&running.record).alive), (1, 0));
    assert!(in_flight.answered().await.starts_with("fault -32603"));
    assert!(running.call().await.starts_with("fault -32003"));
    running.upstream.discover().await;
    running.upstream.close(Duration::ZERO).await;
    assert_eq!(running.upstream.order(Order::Start).await, Err(Fault::ShuttingDown));
    assert_eq!(running.starts().len(), 1);

    let starting = stage("", [SLOW]);
    let waiting = starting.ask();
    settle().await;
    starting.upstream.close(Duration::ZERO).await;
    assert!(waiting.answered().await.contains("shutting down"));
    assert!(starting.began.elapsed() < SECOND, "a start is not waited for");
}

#[tokio::test(start_paused = true)]
async fn discovery_waits_for_the_lists_and_the_host_hears_of_them() {
    let stage = stage("", [SLOW]);
    stage.upstream.discover().await;
    let listing = stage.upstream.listing().unwrap();
    assert_eq!(listing.tools[0].label, "x");
    assert_eq!(stage.host.notices(), ["listing"]);
    stage.upstream.discover().await;
    assert_eq!(stage.host.notices(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn lists_that_could_not_be_read_are_read_again_when_asked_for() {
    let stage = stage("", [LISTLESS]);
    stage.upstream.discover().await;
    assert!(stage.upstream.listing().is_none());
    assert_eq!(stage.call().await, "1", "it can be called all the same");
    stage.upstream.discover().await;
    assert!(stage.upstream.listing().is_none());
    assert_eq!(stage.starts().len(), 1);
}

// S1-30
#[tokio::test(start_paused = true)]
async fn the_list_stays_while_a_crashed_server_is_brought_back() {
    let stage = stage(r#","restartDelay":5000"#, [RUNS, RUNS]);
    stage.upstream.discover().await;
    stage.call().await;
    stage.crash();
    settle().await;
    assert_eq!(stage.phase(), Phase::Starting);
    assert!(stage.upstream.listing().is_some());
    stage.host.notices();
    tokio::time::sleep(6 * SECOND).await;
    assert_eq!(stage.host.notices(), ["listing"], "and is read anew");
}

#[tokio::test(start_paused = true)]
async fn what_a_server_offered_is_known_to_the_next_run() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(home.path().to_owned()));
    let first = stage_with(cache.clone(), "", [RUNS]);
    assert!(first.upstream.listing().is_none());
    first.upstream.discover().await;
    assert!(!first.upstream.listing().unwrap().is_saved());

    let second = stage_with(cache.clone(), "", [RUNS]);
    let listing = second.upstream.listing().unwrap();
    assert!(listing.is_saved() && !listing.is_stale());
    assert_eq!(listing.tools[0].raw.as_str(), r#"{"name":"x"}"#);
    assert_eq!(listing.capabilities.as_ref().unwrap().as_str(), r#"{"tools":{}}"#);
    assert!(second.starts().is_empty(), "nothing was started for it");
    second.upstream.discover().await;
    assert!(!second.upstream.listing().unwrap().is_saved(), "once it runs, it is asked");

    let failing = stage_with(cache.clone(), "", []);
    assert!(failing.upstream.listing().is_some());
    assert_eq!(failing.call().await, FAILED);
    assert!(failing.upstream.listing().is_none(), "what cannot start offers nothing");

    let manual = stage_with(cache, r#","eager":false,"lazy":false"#, [RUNS]);
    assert!(manual.upstream.listing().is_none(), "what may not start offers nothing");
}

// M9: it was "is not running: too many calls are waiting", for everybody.
#[tokio::test(start_paused = true)]
async fn one_client_s_flood_at_a_starting_server_makes_no_other_s_call_be_refused() {
    let stage = stage("", [SLOW]);
    let ask = |client: u64| {
        let (exchange, asked) = Asked::open_by(ClientId(client), 60 * SECOND, false);
        stage.upstream.send(Call::new(Method::ToolsCall, Some(raw("{}"))), exchange);
        asked
    };
    let mut flood: Vec<Asked> = (0..5_000).map(|_| ask(1)).collect();
    let mut others: Vec<Asked> = (2..5_000).map(ask).collect();
    settle().await;
    let refused: Vec<String> = flood.iter_mut().filter_map(Asked::answer).collect();
    assert_eq!(refused.len(), 5_000 - 4_096);
    let busy = "fault -32603 Server 's' is busy: 4096 calls of this client are waiting for it; try again in a moment";
    assert!(refused.iter().all(|answer| answer == busy), "{}", refused[0]);
    assert!(others.iter_mut().all(|other| other.answer().is_none()));
    for other in others {
        assert_eq!(other.answered().await, "1");
    }
}
