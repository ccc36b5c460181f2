//! Streams around streams.

/// Hands what is asked of a stream on to the one inside it, in an `impl` of tokio's `AsyncRead` or `AsyncWrite`:
/// `read` and `write` whole, or `write` with a method that sees how each write went.
///
/// ```
/// # use std::{io, pin::Pin, task::{Context, Poll}};
/// # use manifold_engine::delegate_io;
/// # use tokio::io::AsyncWrite;
/// struct Counted<S> {
///     stream: S,
///     bytes: usize,
/// }
///
/// impl<S> Counted<S> {
///     fn wrote(&mut self, write: &Poll<io::Result<usize>>) {
///         if let Poll::Ready(Ok(bytes)) = write {
///             self.bytes += bytes;
///         }
///     }
/// }
///
/// impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
///     delegate_io!(write: stream, wrote);
/// }
/// ```
#[macro_export]
macro_rules! delegate_io {
    (read: $inner:tt) => {
        fn poll_read(
            mut self: ::std::pin::Pin<&mut Self>,
            context: &mut ::std::task::Context<'_>,
            buffer: &mut ::tokio::io::ReadBuf<'_>,
        ) -> ::std::task::Poll<::std::io::Result<()>> {
            ::std::pin::Pin::new(&mut self.$inner).poll_read(context, buffer)
        }
    };
    (write: $inner:tt $(, $wrote:ident)?) => {
        fn poll_write(
            mut self: ::std::pin::Pin<&mut Self>,
            context: &mut ::std::task::Context<'_>,
            bytes: &[u8],
        ) -> ::std::task::Poll<::std::io::Result<usize>> {
            let write = ::std::pin::Pin::new(&mut self.$inner).poll_write(context, bytes);
            $(self.$wrote(&write);)?
            write
        }

        fn poll_write_vectored(
            mut self: ::std::pin::Pin<&mut Self>,
            context: &mut ::std::task::Context<'_>,
            slices: &[::std::io::IoSlice<'_>],
        ) -> ::std::task::Poll<::std::io::Result<usize>> {
            let write = ::std::pin::Pin::new(&mut self.$inner).poll_write_vectored(context, slices);
            $(self.$wrote(&write);)?
            write
        }

        fn is_write_vectored(&self) -> bool {
            self.$inner.is_write_vectored()
        }

        fn poll_flush(
            mut self: ::std::pin::Pin<&mut Self>,
            context: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<()>> {
            ::std::pin::Pin::new(&mut self.$inner).poll_flush(context)
        }

        fn poll_shutdown(
            mut self: ::std::pin::Pin<&mut Self>,
            context: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<()>> {
            ::std::pin::Pin::new(&mut self.$inner).poll_shutdown(context)
        }
    };
}

#[cfg(test)]
mod tests {
    use std::io::{self, IoSlice};
    use std::task::Poll;

    use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufWriter};

    struct Plain<S>(S);

    impl<S: AsyncRead + Unpin> AsyncRead for Plain<S> {
        delegate_io!(read: 0);
    }

    impl<S: AsyncWrite + Unpin> AsyncWrite for Plain<S> {
        delegate_io!(write: 0);
    }

    #[derive(Default)]
    struct Counted<S> {
        stream: S,
        writes: Vec<usize>,
    }

    impl<S> Counted<S> {
        fn wrote(&mut self, write: &Poll<io::Result<usize>>) {
            if let Poll::Ready(Ok(bytes)) = write {
                self.writes.push(*bytes);
            }
        }
    }

    impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
        delegate_io!(write: stream, wrote);
    }

    #[tokio::test]
    async fn what_is_asked_reaches_the_stream_inside() {
        let mut read = String::new();
        Plain(&b"inside"[..]).read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "inside");

        let mut plain = Plain(BufWriter::new(Vec::new()));
        assert!(plain.is_write_vectored());
        plain.write_all(b"kept back").await.unwrap();
        assert!(plain.0.get_ref().is_empty());
        plain.flush().await.unwrap();
        assert_eq!(plain.0.get_ref(), b"kept back");
        plain.write_all(b", and let go").await.unwrap();
        plain.shutdown().await.unwrap();
        assert_eq!(plain.0.get_ref(), b"kept back, and let go");
    }

    #[tokio::test]
    async fn each_write_is_seen_once() {
        let mut counted = Counted::<Vec<u8>>::default();
        counted.write_all(b"one").await.unwrap();
        let slices = [IoSlice::new(b"two"), IoSlice::new(b"three")];
        assert_eq!(counted.write_vectored(&slices).await.unwrap(), 8, "all slices at once");
        assert_eq!((counted.writes, counted.stream), (vec![3, 8], b"onetwothree".to_vec()));
    }
}
