//! What each refusal of a call leads to.

use super::*;
use crate::record::ClientSource;
use crate::settings::Grant;

fn sent(bearer: &Bearer, is_second: bool) -> Sent<'_> {
    Sent { bearer: Some(bearer), is_second }
}

#[tokio::test(start_paused = true)]
async fn a_call_sent_with_an_older_token_is_sent_again_with_the_newer() {
    let (world, sign_in) = signed_in(Rules::default()).await;
    let old = sign_in.current().unwrap();
    assert!(matches!(sign_in.refused(sent(&old, false), 401, None).await, Verdict::Resend(_)));
    let verdict = sign_in.refused(sent(&old, false), 401, None).await;
    assert!(matches!(verdict, Verdict::Resend(new) if new.header.expose() == "Bearer access-2"));
    assert!(
        matches!(sign_in.refused(sent(&old, true), 401, None).await, Verdict::Pass),
        "never a third time"
    );
    assert_eq!(world.issuer.asked("refresh_token"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_fresh_token_that_is_refused_is_the_end() {
    let (world, sign_in) = signed_in(Rules::default()).await;
    let old = sign_in.current().unwrap();
    let Verdict::Resend(fresh) = sign_in.refused(sent(&old, false), 401, None).await else { panic!() };
    let looked = world.http.urls().len();
    let verdict = sign_in.refused(sent(&fresh, true), 401, Challenge::parse(["Bearer"])).await;
    assert!(matches!(verdict, Verdict::Failed(State::LoginExpired { .. })));
    assert!(world.http.urls().len() > looked, "the server's metadata was looked at again");
    assert!(sign_in.current().is_none());
}

/// The server has another issuer now. Whoever we were at the old one, nothing of it reaches the new one.
#[tokio::test(start_paused = true)]
async fn an_issuer_that_moved_learns_nothing_of_the_old_one() {
    for (source, expected) in [
        (ClientSource::Registered, "needs login"),
        (ClientSource::Configured, "issuer refused"),
        (ClientSource::MetadataDocument, "needs login"),
    ] {
        let mut world = World::new(Rules {
            metadata: r#"{"client_id_metadata_document_supported":true}"#,
            ..Rules::default()
        });
        match source {
            ClientSource::Configured => {
                world.settings.client_id = Some("configured-id".to_owned());
                world.settings.client_secret = Some("configured-secret".into());
            }
            ClientSource::MetadataDocument => {
                world.settings.client_metadata_url = Some("https://us.example/c.json".to_owned())
            }
            ClientSource::Registered => {}
        }
        world.log_in().await;
        let sign_in = world.process().await;
        let old = sign_in.current().unwrap();
        world.issuer.rules(|rules| rules.issuer = "https://new.example");
        let verdict = sign_in.refused(sent(&old, true), 401, None).await;
        assert!(
            matches!(&verdict, Verdict::Failed(state) if state.name() == expected),
            "{source:?} {verdict:?}"
        );
        if source != ClientSource::Configured {
            world.log_in().await;
            sign_in.changed_on_disk().await;
            assert_eq!(sign_in.shown().issuer.as_deref(), Some("https://new.example"));
        }
        let said = world.http.said_to("new.example");
        for old in ["access-1", "refresh-1", "configured-id", "configured-secret"] {
            assert!(!said.contains(old), "{old} in {said}");
        }
        assert!(said.contains("/token") || source == ClientSource::Configured);
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_scope_is_written_down_and_others_go_on() {
    let (world, sign_in) = signed_in(Rules::default()).await;
    let bearer = sign_in.current().unwrap();
    let challenge = || Challenge::parse([r#"Bearer error="insufficient_scope", scope="admin""#]);
    let verdict = sign_in.refused(sent(&bearer, false), 403, challenge()).await;
    assert!(matches!(verdict, Verdict::Failed(State::NeedsScope { scopes }) if scopes == ["admin"]));
    assert_eq!(sign_in.state(), State::NeedsScope { scopes: vec!["admin".to_owned()] });
    assert!(sign_in.current().is_some() && world.issuer.asked("refresh_token") == 0);
    let next = world.log_in().await;
    assert_eq!(next.requested_scopes, ["read", "write", "admin"], "what was asked before, and this");
    sign_in.changed_on_disk().await;
    assert_eq!(sign_in.state(), State::Ready);
    let scopes = vec!["admin".to_owned()];
    assert!(sign_in.may_step_up(&scopes) && !sign_in.may_step_up(&scopes), "offered once");
    sleep(3601).await;
    assert!(sign_in.may_step_up(&scopes), "and again after an hour");
}

#[tokio::test(start_paused = true)]
async fn what_has_nothing_to_do_with_signing_in_is_passed_on() {
    let (world, sign_in) = signed_in(Rules::default()).await;
    let bearer = sign_in.current().unwrap();
    for (status, header) in
        [(403, None), (403, Some("Bearer")), (400, Some("Bearer error=\"invalid_token\"")), (500, None)]
    {
        let verdict = sign_in
            .refused(sent(&bearer, false), status, header.and_then(|header| Challenge::parse([header])))
            .await;
        assert!(matches!(verdict, Verdict::Pass), "{status} {header:?}");
    }
    assert_eq!((world.issuer.asked("refresh_token"), sign_in.state()), (0, State::Ready));
}

#[tokio::test(start_paused = true)]
async fn client_credentials_sign_in_when_they_are_asked() {
    let mut world = World::new(Rules { life: Some(60), ..Rules::default() });
    world.settings.grant = Grant::ClientCredentials;
    world.settings.client_id = Some("me".to_owned());
    world.settings.client_secret = Some("s".into());
    let sign_in = world.process().await;
    for _ in 0..200 {
        call(&world, &sign_in).await.1.unwrap();
        sleep(1).await;
    }
    let asked = world.issuer.asked("client_credentials");
    assert!((4..=6).contains(&asked), "{asked}");
    assert!(!world.http.urls().iter().any(|url| url.ends_with("/register")));
}
