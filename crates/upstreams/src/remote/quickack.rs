//! A TCP stream that says at once what it has received. Many servers write an answer in two pieces without
//! `TCP_NODELAY`; their kernel keeps the second until ours acknowledges the first, which it is in no hurry to do (40 ms).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use manifold_engine::delegate_io;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::h1::Stream;

pub(super) struct QuickAck {
    stream: TcpStream,
    /// Whether something came that has perhaps not been acknowledged.
    owes: bool,
    sent_bytes: u64,
}

impl QuickAck {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, owes: false, sent_bytes: 0 }
    }

    /// What is written takes the acknowledgement along.
    fn wrote(&mut self, write: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = write {
            self.owes = false;
            self.sent_bytes += *bytes as u64;
        }
    }

    fn acknowledge(&mut self) {
        self.owes = false;
        // The kernel forgets it again soon, and it is only about speed.
        #[cfg(target_os = "linux")]
        let _ = self.stream.set_quickack(true);
    }
}

impl Stream for QuickAck {
    fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    fn is_quiet(&mut self) -> bool {
        // Whoever asks is about to write: nothing needs to be acknowledged for it.
        let (mut byte, mut context) = ([0], Context::from_waker(Waker::noop()));
        Pin::new(&mut self.stream).poll_read(&mut context, &mut ReadBuf::new(&mut byte)).is_pending()
    }
}

impl AsyncRead for QuickAck {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        match &read {
            Poll::Ready(_) => self.owes = true,
            // More is waited for: it may be waiting for us.
            Poll::Pending if self.owes => self.acknowledge(),
            Poll::Pending => {}
        }
        read
    }
}

impl AsyncWrite for QuickAck {
    delegate_io!(write: stream, wrote);
}

#[cfg(test)]
mod tests {
    use manifold_testkit::figures;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::{Duration, Instant};

    use super::*;

    /// Answers each byte in two small pieces, as servers do that leave the kernel to collect them.
    async fn hesitant(listener: TcpListener) {
        let (mut stream, _) = listener.accept().await.unwrap();
        while stream.read_u8().await.is_ok() {
            stream.write_all(b"head").await.unwrap();
            stream.write_all(b"body").await.unwrap();
        }
    }

    #[tokio::test]
    async fn an_answer_in_two_pieces_is_not_held_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = tokio::task::JoinSet::new();
        server.spawn(hesitant(listener));
        let mut stream = QuickAck::new(TcpStream::connect(address).await.unwrap());
        let began = Instant::now();
        for _ in 0..50 {
            stream.write_all(b"?").await.unwrap();
            stream.read_exact(&mut [0; 8]).await.unwrap();
        }
        // Held up, this takes two seconds.
        figures::took("fifty answers in two pieces each", began.elapsed(), Duration::from_secs(1));
    }
}
