use bytes::BytesMut;
use manifold_config::Profile;
use manifold_engine::{Audience, Requester};
use manifold_protocol::CodeSet;
use manifold_rendezvous::frame;
use tokio::io::AsyncReadExt;

use super::*;
use crate::fake;

#[tokio::test]
async fn a_client_that_an_operator_wants_gone_is_told_that_it_is_over() {
    let world = fake::world(Profile::Manifold);
    let destination = Destination {
        gateway: Ok(world.gateway),
        codes: CodeSet::Own,
        profile: Profile::Manifold,
        audience: Audience::One,
        requester: Requester::local(),
    };
    let (mut shim, socket) = UnixStream::pair().unwrap();
    let (stages, _page) = Stages::new().unwrap();
    let continuation =
        Continuation { session: Arc::from("one"), before: Arc::from(""), questions: 0, kept: Arc::default() };
    let options = Options {
        limit_bytes: 1 << 20,
        budget: Budget::new(1 << 20),
        drain_timeout: Duration::from_secs(3600),
    };
    let session =
        ShimSession::new(destination, socket, (Arc::new(stages), continuation), options, &world.tasks);
    assert!(session.client.session.disconnect());
    session.serve(std::future::pending(), std::future::pending()).await;
    let mut said = BytesMut::new();
    while shim.read_buf(&mut said).await.unwrap() > 0 {}
    let first = frame::next(&mut said).unwrap().expect("a frame");
    assert_eq!((first.kind, said.len()), (Kind::Over, 0));
}
