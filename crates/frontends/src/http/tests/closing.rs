//! How connections end when we do.

use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::*;

const HEALTH: &[u8] = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Reads one answer whose body is JSON.
async fn answer(stream: &mut TcpStream) -> String {
    let mut came = Vec::new();
    while !came.ends_with(b"}") {
        assert_ne!(stream.read_buf(&mut came).await.unwrap(), 0, "the connection was closed");
    }
    String::from_utf8(came).unwrap()
}

/// F41: a client cannot know whether a request has run whose connection was closed under it: it is told with an answer.
#[tokio::test]
async fn a_connection_that_rests_may_make_one_more_request_and_hears_that_it_was_the_last() {
    let (site, world) = site_and_world(Admission::default(), ClientLimits::default(), 1 << 20);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let stopped = async { stopped.await.unwrap_or_default() };
    let serving = serve(listener, None, site, Duration::from_secs(60), stopped, &world.tasks);
    let asking = async {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(HEALTH).await.unwrap();
        assert!(!answer(&mut client).await.contains("connection: close"));
        stop.send(Duration::from_secs(60)).unwrap();
        // Nobody new is let in from then on.
        while TcpStream::connect(address).await.is_ok() {}
        client.write_all(HEALTH).await.unwrap();
        assert!(answer(&mut client).await.contains("\r\nconnection: close\r\n"));
        assert!(client.read_u8().await.is_err(), "it is closed");
    };
    // With its last connection it ends.
    tokio::join!(serving, asking);
}
