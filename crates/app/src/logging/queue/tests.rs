use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);
const LONG: Patience = Patience { stalled: PATIENCE, total: PATIENCE };

/// A log whose every write asks for leave and waits for it, and tells what it wrote.
struct Slow {
    asks: Sender<()>,
    leave: Receiver<io::Result<()>>,
    wrote: Sender<String>,
}

impl Write for Slow {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = self.asks.send(());
        self.leave.recv().unwrap_or(Ok(()))?;
        let _ = self.wrote.send(String::from_utf8_lossy(line).into_owned());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// F39
#[test]
fn nobody_waits_for_a_log_that_is_not_written() {
    let ((asks, asked), leave, (wrote, written)) = (channel(), channel(), channel());
    let queue = Queue::start("test", Slow { asks, leave: leave.1, wrote }).unwrap();
    let line = [b'x'; 1024];
    (&*queue).write_all(&line).unwrap();
    // Once the writer has the first line it waits with it, and takes no other.
    asked.recv_timeout(PATIENCE).unwrap();
    let lines = 10 * MAX_BYTES / line.len();
    for _ in 0..lines {
        (&*queue).write_all(&line).unwrap();
    }
    let (kept, lost) = {
        let state = queue.lock();
        (state.bytes, state.lost)
    };
    assert_eq!(kept, MAX_BYTES);
    assert_eq!(lost, (lines - MAX_BYTES / line.len()) as u64, "what finds no room is counted");
    queue.flush(Patience { stalled: Duration::from_millis(1), total: PATIENCE });
    drop(leave.0);
    queue.flush(LONG);
    assert_eq!(
        written.try_iter().count() as u64 + lost,
        lines as u64 + 1,
        "every line is written or counted"
    );
}

// F32
#[test]
fn a_log_that_fails_is_tried_again() {
    let (asks, _asked) = channel();
    let (leave, (wrote, written)) = (channel(), channel());
    let queue = Queue::start("test", Slow { asks, leave: leave.1, wrote }).unwrap();
    leave.0.send(Err(io::ErrorKind::StorageFull.into())).unwrap();
    (&*queue).write_all(b"lost").unwrap();
    queue.flush(LONG);
    leave.0.send(Ok(())).unwrap();
    (&*queue).write_all(b"kept").unwrap();
    assert_eq!(written.recv_timeout(PATIENCE).unwrap(), "kept");
}

// The last lines of a process are written, however slowly, for as long as the writer gets on with them.
#[test]
fn a_log_that_is_written_slowly_is_waited_for() {
    const LINES: usize = 6;
    let ((asks, asked), leave, (wrote, written)) = (channel(), channel(), channel());
    let queue = Queue::start("test", Slow { asks, leave: leave.1, wrote }).unwrap();
    for _ in 0..LINES {
        (&*queue).write_all(b"line").unwrap();
    }
    let patience = Duration::from_secs(1);
    let leaves = thread::spawn(move || {
        for _ in 0..LINES {
            asked.recv_timeout(PATIENCE).unwrap();
            // Together they take longer than a stalled log may.
            thread::sleep(patience / 4);
            leave.0.send(Ok(())).unwrap();
        }
    });
    queue.flush(Patience { stalled: patience, total: PATIENCE });
    assert_eq!(written.try_iter().count(), LINES);
    leaves.join().unwrap();
}
