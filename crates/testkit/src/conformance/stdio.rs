//! stdin and stdout, and a filter that makes a legacy server as ignorant as one from before 2026.

use rmcp::ServiceExt;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, duplex, split, stdin, stdout,
};

use super::Era;
use super::server::Server;

type Failure = Box<dyn std::error::Error>;

pub(super) async fn serve(server: Server, era: Era) -> Result<(), Failure> {
    if era != Era::Legacy {
        return run(server, stdin(), stdout()).await;
    }
    let (outside, inside) = duplex(1024 * 1024);
    let (read, write) = split(inside);
    // Either may end first: the server by its own will, the filter with stdin.
    tokio::select! {
        served = run(server, read, write) => served,
        filtered = ignorant(outside) => filtered,
    }
}

async fn run<R, W>(server: Server, read: R, write: W) -> Result<(), Failure>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    server.serve((read, write)).await?.waiting().await?;
    Ok(())
}

/// Carries lines both ways and answers modern methods itself; only this task writes to stdout.
async fn ignorant<S: AsyncRead + AsyncWrite>(server: S) -> Result<(), Failure> {
    let (answers, mut requests) = split(server);
    let mut lines = BufReader::new(stdin()).lines();
    let mut answers = BufReader::new(answers).lines();
    let mut out = stdout();
    loop {
        let answer = tokio::select! {
            line = lines.next_line() => match line? {
                None => return Ok(()),
                Some(line) => match refusal(&line) {
                    Some(refusal) => refusal,
                    None => {
                        requests.write_all(format!("{line}\n").as_bytes()).await?;
                        continue;
                    }
                },
            },
            answer = answers.next_line() => match answer? {
                None => return Ok(()),
                Some(answer) => answer,
            },
        };
        out.write_all(format!("{answer}\n").as_bytes()).await?;
        out.flush().await?;
    }
}

fn refusal(line: &str) -> Option<String> {
    let message: Value = serde_json::from_str(line).ok()?;
    let method = message["method"].as_str()?;
    let modern = matches!(method, "server/discover" | "subscriptions/listen") || method.starts_with("tasks/");
    let error = json!({"code": -32601, "message": format!("Method not found: {method}")});
    modern.then(|| json!({"jsonrpc": "2.0", "id": message["id"], "error": error}).to_string())
}
