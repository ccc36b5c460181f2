use expect_test::expect;
use manifold_admin::{
    AuditLine, AuditOutcome, Client, ClientRow, ClientTransport, Namespace, NamespaceRow, Protocol,
};

use super::{audit, connected, namespaces};
use crate::output::rendered;

#[test]
fn clients_on_a_terminal_are_a_table() {
    let client = Client {
        id: 3,
        name: Some("claude-code".to_owned()),
        version: Some("2.1.7".to_owned()),
        protocol: Some(Protocol::of("2025-11-25")),
        transport: Some(ClientTransport::Stdio),
        connected_ms: 90_500,
        ..Client::default()
    };
    let row = ClientRow::of(&client, "2026-11-17T09:58:29Z".to_owned());
    expect![[r#"
        ID  NAME         VERSION  ERA     TRANSPORT  NAMESPACE  PID  SINCE
         3  claude-code  2.1.7    legacy  stdio                      2026-11-17T09:58:29Z
    "#]]
    .assert_eq(&rendered(&connected::table(&[row]), 100));
}

#[test]
fn namespaces_and_the_audit_on_a_terminal_are_tables() {
    let namespace = Namespace { id: Some("work".to_owned()), enabled: true, ..Namespace::default() };
    expect![[r#"
        ID    STATE  TOOLS  CLIENTS  SERVERS
        work  idle
    "#]]
    .assert_eq(&rendered(&namespaces::table(&[NamespaceRow::of(&namespace)]), 80));
    let line = AuditLine {
        time: "2026-11-17T10:00:00Z".to_owned(),
        verb: "stop".to_owned(),
        target: Some("git".to_owned()),
        outcome: AuditOutcome::Done,
        ..AuditLine::default()
    };
    expect![[r#"
        TIME                      BY  VERB  TARGET  OUTCOME  ERROR
        2026-11-17T10:00:00.000Z      stop  git     done
    "#]]
    .assert_eq(&rendered(&audit::table(&[line]), 100));
}
