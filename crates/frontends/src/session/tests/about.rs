use manifold_admin::ClientTransport;
use manifold_engine::ClientProcess;

use super::*;

#[tokio::test]
async fn a_client_is_known_by_what_it_said_of_itself() {
    let desk = desk();
    let about = desk.session.about();
    assert_eq!((about.name, about.revision, about.calls_in_flight), (None, None, Some(0)));
    assert_eq!(about.transport, Some(ClientTransport::Stdio));
    desk.say(&initialize("2025-06-18", "{}"));
    desk.say(&tool("1", "hold"));
    let about = desk.session.about();
    assert_eq!((about.name.as_deref(), about.version.as_deref()), (Some("c"), Some("1")));
    assert_eq!((about.revision.as_deref(), about.calls_in_flight), (Some("2025-06-18"), Some(1)));
}

// One that makes single requests on its pipe has no handshake to say it in.
#[tokio::test]
async fn a_client_without_a_session_is_known_by_its_first_request() {
    let desk = desk();
    let params = Raw::parse(
        r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
            "io.modelcontextprotocol/clientInfo":{"name":"modern","version":"2"}}}"#,
    );
    desk.session.note_passing(params.ok().as_ref());
    let about = desk.session.about();
    assert_eq!((about.name.as_deref(), about.version.as_deref()), (Some("modern"), Some("2")));
    assert_eq!(about.revision.as_deref(), Some("2026-07-28"));
}

#[tokio::test]
async fn the_process_of_a_client_is_told_where_it_can_be_seen() {
    let (cwd, shim) = (Some("/work".to_owned()), Some("0.1\u{1b}".to_owned()));
    let process = ClientProcess { pid: Some(7), cwd, shim };
    let world = fake::world(Profile::Manifold);
    let destination = Destination {
        gateway: Ok(Arc::clone(&world.gateway)),
        codes: CodeSet::Own,
        profile: Profile::Manifold,
        audience: Audience::One,
        requester: Requester::of_process(process),
    };
    let about = Session::new(destination, Arc::new(Outbox::new(1 << 10))).about();
    assert_eq!((about.pid, about.cwd.as_deref()), (Some(7), Some("/work")));
    assert_eq!(about.shim.as_deref(), Some("0.1"));
}
