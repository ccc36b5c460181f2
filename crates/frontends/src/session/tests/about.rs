use manifold_admin::ClientTransport;

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
