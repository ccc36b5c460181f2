use std::io::ErrorKind;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::{sleep, timeout};

use super::*;

const ALL: usize = 100_000;
const TEXT: u8 = 0x1;
const GOES_ON: u8 = 0x0;
const PONG: u8 = 0xa;
const LAST: u8 = 0x80;

/// Writes a frame as clients do.
fn frame(first: u8, length: usize) -> Vec<u8> {
    let mut frame = vec![first];
    match length {
        0..126 => frame.push(0x80 | length as u8),
        126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[1, 2, 3, 4]);
    frame.resize(frame.len() + length, b'x');
    frame
}

struct Line {
    peer: DuplexStream,
    inflow: Inflow<DuplexStream>,
    budget: Budget,
}

impl Line {
    fn new() -> Self {
        let (peer, ours) = duplex(1 << 20);
        let budget = Budget::new(ALL);
        Self { peer, inflow: Inflow::new(ours, budget.part(ALL / 4)), budget }
    }

    /// Sends bytes and has them read, so many at a time.
    async fn pass(&mut self, bytes: &[u8], at_once: usize) -> io::Result<()> {
        self.peer.write_all(bytes).await?;
        let (mut left, mut buffer) = (bytes.len(), vec![0; at_once]);
        while left > 0 {
            left -= self.inflow.read(&mut buffer).await?;
        }
        Ok(())
    }

    fn held(&self) -> usize {
        (0..=ALL).find(|held| self.budget.admits(ALL - held)).unwrap()
    }

    /// Waits for the next byte, for at most so long.
    async fn wait(&mut self, patience: Duration) -> Option<ErrorKind> {
        match timeout(patience, self.inflow.read(&mut [0])).await {
            Err(_) => None,
            Ok(read) => Some(read.unwrap_err().kind()),
        }
    }
}

// M7
#[tokio::test(start_paused = true)]
async fn a_message_counts_from_its_first_byte_until_its_last() {
    for at_once in [1, 7, 4096] {
        let mut line = Line::new();
        for length in [0, 1, 125, 126, 5_000] {
            let whole = frame(LAST | TEXT, length);
            let (begin, end) = whole.split_at(whole.len() - 1);
            line.pass(begin, at_once).await.unwrap();
            assert_eq!(line.held(), length.saturating_sub(1), "{length}");
            line.pass(end, at_once).await.unwrap();
            assert_eq!(line.held(), 0, "{length}");
        }
        // In parts, with a sign of life between them.
        line.pass(&frame(TEXT, 300), at_once).await.unwrap();
        line.pass(&frame(LAST | PONG, 5), at_once).await.unwrap();
        line.pass(&frame(GOES_ON, 300), at_once).await.unwrap();
        assert_eq!(line.held(), 600);
        line.pass(&frame(LAST | GOES_ON, 300), at_once).await.unwrap();
        assert_eq!(line.held(), 0);
        // Two at once.
        let two = [frame(LAST | TEXT, 200), frame(LAST | TEXT, 100)].concat();
        line.pass(&two[..two.len() - 10], 8192).await.unwrap();
        assert_eq!(line.held(), 90);
    }
}

// M7: what is announced counts for nothing, what comes counts for all
#[tokio::test(start_paused = true)]
async fn past_what_all_may_hold_a_message_is_not_read_on() {
    let (mut line, mut other) = (Line::new(), Line::new());
    other.budget = line.budget.clone();
    other.inflow.budget = line.budget.part(ALL / 4);
    let large = frame(LAST | TEXT, 90_000);
    line.pass(&large[..14], 4096).await.unwrap();
    assert_eq!(line.held(), 0);
    line.pass(&large[14..70_000], 4096).await.unwrap();
    let refused = other.pass(&large[..70_000], 4096).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::QuotaExceeded);
    drop(other);
    line.pass(&large[70_000..], 4096).await.unwrap();
    assert_eq!(line.held(), 0);
}

// M7
#[tokio::test(start_paused = true)]
async fn a_message_that_stops_coming_is_given_up_after_25_seconds() {
    let almost = REQUEST_PATIENCE - Duration::from_millis(10);
    let whole = frame(LAST | TEXT, 50_000);
    for size in [1, 3, 20, 49_000] {
        let mut line = Line::new();
        assert_eq!(line.wait(Duration::from_secs(3600)).await, None, "one at rest may rest");
        line.pass(&whole[..size], 4096).await.unwrap();
        assert_eq!(line.wait(almost).await, None, "{size}");
        assert_eq!(line.wait(almost).await, Some(ErrorKind::TimedOut), "{size}");
    }
    // Between two parts as well, and pongs do not help.
    let mut line = Line::new();
    line.pass(&frame(TEXT, 300), 4096).await.unwrap();
    for _ in 0..2 {
        sleep(Duration::from_secs(12)).await;
        line.pass(&frame(LAST | PONG, 5), 4096).await.unwrap();
    }
    assert_eq!(line.wait(Duration::from_secs(2)).await, Some(ErrorKind::TimedOut));
    // Pongs alone are no message.
    let mut line = Line::new();
    line.pass(&frame(LAST | PONG, 5), 4096).await.unwrap();
    assert_eq!(line.wait(Duration::from_secs(3600)).await, None);
}

// M7: and one that only trickles
#[tokio::test(start_paused = true)]
async fn a_message_that_trickles_is_given_up() {
    let mut line = Line::new();
    let whole = frame(LAST | TEXT, 50_000);
    let began = Instant::now();
    let mut ended = None;
    for byte in whole.chunks(1) {
        if let Err(error) = line.pass(byte, 1).await {
            ended = Some(error.kind());
            break;
        }
        if line.wait(Duration::from_secs(5)).await.is_some() {
            ended = Some(ErrorKind::TimedOut);
            break;
        }
    }
    assert_eq!(ended, Some(ErrorKind::TimedOut));
    assert!(began.elapsed() <= Duration::from_secs(31), "{:?}", began.elapsed());
}
