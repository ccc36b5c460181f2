use std::time::Duration;

use super::*;
use crate::fakes::{ISSUER, REDIRECT, Rules, SERVER, World, field};
use crate::settings::{Pkce, ResourceChoice};

async fn pending(world: &World) -> Pending {
    begin(&world.context(), Start { redirect_uri: REDIRECT.to_owned(), ..Start::default() }).await.unwrap()
}

fn parameter(url: &str, name: &str) -> Option<String> {
    let fields = crate::text::fields(url.split_once('?')?.1)?;
    fields.into_iter().find(|(at, _)| at == name).map(|(_, value)| value)
}

#[tokio::test(start_paused = true)]
async fn a_login_from_the_first_address_to_the_token() {
    let mut world = World::new(Rules::default());
    world.settings.params =
        [("prompt".to_owned(), "consent".to_owned()), ("state".to_owned(), "mine".to_owned())].into();
    let pending = pending(&world).await;
    let url = pending.authorization_url();
    assert!(url.starts_with("https://as.example/authorize?response_type=code&client_id=registered-id&"));
    assert_eq!(parameter(url, "resource").as_deref(), Some(SERVER));
    assert_eq!(parameter(url, "scope").as_deref(), Some("read write"));
    assert_eq!(parameter(url, "prompt").as_deref(), Some("consent"));
    assert_eq!(
        parameter(url, "state").unwrap(),
        pending.state().expose(),
        "the config replaces nothing of ours"
    );
    let credential = pending.finish(&world.issuer.consent(url)).await.unwrap();
    assert_eq!((credential.issuer.as_str(), credential.resource.as_deref()), (ISSUER, Some(SERVER)));
    assert_eq!(credential.tokens.as_ref().unwrap().access, Secret::new("access-1"));
    let seen = world.http.seen.lock().unwrap();
    let exchange = seen.last().unwrap();
    assert_eq!(field(exchange, "resource").as_deref(), Some(SERVER));
    assert_eq!(field(exchange, "redirect_uri").as_deref(), Some(REDIRECT));
    let verifier = Secret::new(field(exchange, "code_verifier").unwrap());
    assert_eq!(parameter(url, "code_challenge").unwrap(), crate::random::challenge(&verifier));
    assert!(seen.iter().all(|request| request.method != crate::http::Method::Post
        || request.redirects == crate::http::Redirects::None));
}

/// Callbacks that are not this login's are refused, leave it open, and nothing is asked of the issuer for them.
#[tokio::test(start_paused = true)]
async fn a_wrong_callback_uses_nothing_up() {
    for metadata in ["{}", r#"{"authorization_response_iss_parameter_supported":true}"#] {
        let world = World::new(Rules { metadata, ..Rules::default() });
        let pending = pending(&world).await;
        let state = pending.state().expose().to_owned();
        let iss = "iss=https%3A%2F%2Fas.example";
        let mut wrong = vec![
            format!("code=x&state=other&{iss}"),
            format!("code=x&{iss}"),
            format!("code=x&state={state}&iss=https%3A%2F%2Fevil.example"),
            format!("code=x&state={state}&iss=https%3A%2F%2Fas.example%2F"),
            format!("code=x&state={state}&iss=https%3A%2F%2FAS.example"),
            format!("code=x&state={state}&iss=https%3A%2F%2Fas.example%3A443"),
            format!("error=access_denied&state={state}&iss=https%3A%2F%2Fevil.example"),
            format!("error=access_denied&state=other&{iss}"),
            format!("code=x&code=y&state={state}&{iss}"),
            format!("code=x&state={state}&state={state}&{iss}"),
            format!("code=&state={state}&{iss}"),
            format!("state={state}&{iss}"),
            format!("http://127.0.0.1:4711/other?code=x&state={state}&{iss}"),
            format!("http://127.0.0.1:1/callback?code=x&state={state}&{iss}"),
            format!("https://evil.example/callback?code=x&state={state}&{iss}"),
            format!("code={}&state={state}&{iss}", "x".repeat(1 << 20)),
            "the-bare-code".to_owned(),
            String::new(),
        ];
        if metadata != "{}" {
            wrong.push(format!("code=x&state={state}"));
        }
        for query in &wrong {
            let refused = pending.finish(query).await.unwrap_err();
            assert!(refused.leaves_open(), "{query:.100}: {refused}");
            assert!(!refused.to_string().contains("evil") && !refused.to_string().contains("access_denied"));
        }
        assert_eq!(world.issuer.asked("authorization_code"), 0);
        let pasted = format!("  {REDIRECT}?{iss}&code=x&state={state}#\n");
        pending.finish(&pasted).await.unwrap();
        assert_eq!(pending.finish(&pasted).await.unwrap_err(), LoginError::Spent, "a replay");
        assert_eq!(world.issuer.asked("authorization_code"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_no_and_a_late_yes_end_a_login() {
    let world = World::new(Rules::default());
    let first = pending(&world).await;
    let query = format!("error=access_denied&error_description=no%0Away&state={}", first.state().expose());
    assert_eq!(
        first.finish(&query).await.unwrap_err().to_string(),
        "as.example refuses the login: access_denied (no way)"
    );
    assert_eq!(first.finish(&query).await.unwrap_err(), LoginError::Spent);
    let late = pending(&world).await;
    tokio::time::advance(Duration::from_secs(601)).await;
    assert_eq!(
        late.finish(&world.issuer.consent(late.authorization_url())).await.unwrap_err(),
        LoginError::Expired
    );
    assert_eq!(world.issuer.asked("authorization_code"), 0);
}

#[tokio::test(start_paused = true)]
async fn without_s256_nobody_signs_in() {
    for metadata in
        [r#"{"code_challenge_methods_supported":null}"#, r#"{"code_challenge_methods_supported":["plain"]}"#]
    {
        let mut world = World::new(Rules { metadata, ..Rules::default() });
        let start = Start { redirect_uri: REDIRECT.to_owned(), ..Start::default() };
        let refused = begin(&world.context(), start.clone()).await.unwrap_err();
        assert!(matches!(refused, LoginError::NoPkce { .. }));
        world.settings.pkce = Pkce::Assume;
        begin(&world.context(), start).await.unwrap();
    }
}

/// What is sent as `resource` is the same, byte for byte, when signing in, when getting the token and at each refresh.
#[tokio::test(start_paused = true)]
async fn the_resource_is_the_same_everywhere() {
    let said = crate::discovery::FORMS.iter().map(|form| (*form, ResourceChoice::Discovered, Some(*form)));
    for (resource, choice, sent) in said.chain([
        (SERVER, ResourceChoice::Given("urn:x y".to_owned()), Some("urn:x y")),
        (SERVER, ResourceChoice::Omitted, None),
    ]) {
        let mut world = World::new(Rules { resource: resource.to_owned(), ..Rules::default() });
        world.settings.resource = choice;
        let pending = pending(&world).await;
        assert_eq!(parameter(pending.authorization_url(), "resource").as_deref(), sent);
        world.log_in().await;
        let sign_in = world.process().await;
        let first = sign_in.current().unwrap();
        sign_in.refused(crate::Sent { bearer: Some(&first), is_second: false }, 401, None).await;
        assert_eq!(world.issuer.asked("refresh_token"), 1);
        let seen = world.http.seen.lock().unwrap();
        let posts = seen.iter().filter(|request| request.url.path() == "/token");
        assert!(
            posts.clone().count() == 2
                && posts.into_iter().all(|request| field(request, "resource").as_deref() == sent)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_device_login_is_as_patient_as_it_is_told() {
    let world = World::new(Rules {
        instead: Some((400, r#"{"error":"authorization_pending"}"#)),
        ..Rules::default()
    });
    let mut login = DeviceLogin::begin(&world.context(), Start::default()).await.unwrap();
    assert_eq!((login.user_code(), login.verification_uri()), ("ABCD-EFGH", "https://as.example/activate"));
    let began = tokio::time::Instant::now();
    let wait = login.wait();
    tokio::pin!(wait);
    let grant = crate::registration::DEVICE_GRANT;
    assert!(tokio::time::timeout(Duration::from_millis(10_500), &mut wait).await.is_err());
    assert_eq!(world.issuer.asked(grant), 2, "every five seconds");
    world.issuer.rules(|rules| rules.instead = Some((400, r#"{"error":"slow_down"}"#)));
    assert!(tokio::time::timeout(Duration::from_secs(5), &mut wait).await.is_err());
    assert_eq!(world.issuer.asked(grant), 3);
    world.issuer.rules(|rules| rules.instead = None);
    let credential = wait.await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(25), "ten more after it was told to slow down");
    assert_eq!(credential.tokens.unwrap().access, Secret::new("access-1"));
    let seen = world.http.seen.lock().unwrap();
    let register = seen.iter().find(|request| request.url.path() == "/register").unwrap();
    assert!(register.body.parts().unwrap().1.contains(grant));
    assert!(
        seen.iter()
            .filter(|request| matches!(request.url.path(), "/device" | "/token"))
            .all(|request| field(request, "resource").as_deref() == Some(SERVER))
    );
}

#[tokio::test(start_paused = true)]
async fn a_device_login_ends_with_its_code() {
    let world = World::new(Rules { instead: Some((503, "")), ..Rules::default() });
    let mut login = DeviceLogin::begin(&world.context(), Start::default()).await.unwrap();
    assert_eq!(login.wait().await.unwrap_err(), LoginError::Expired);
    assert!(
        world.issuer.asked(crate::registration::DEVICE_GRANT) < 10,
        "one that is down is asked less and less"
    );
    world.issuer.rules(|rules| rules.instead = Some((400, r#"{"error":"access_denied"}"#)));
    let mut login = DeviceLogin::begin(&world.context(), Start::default()).await.unwrap();
    assert_eq!(login.wait().await.unwrap_err().code(), Some("access_denied"));
}

#[tokio::test(start_paused = true)]
async fn client_credentials_need_no_user() {
    let mut world = World::new(Rules::default());
    assert!(matches!(
        client_credentials(&world.context(), Start::default()).await,
        Err(LoginError::NeedsClientId { .. })
    ));
    world.settings.client_id = Some("me".to_owned());
    world.settings.client_secret = Some(Secret::new("s"));
    let credential = client_credentials(&world.context(), Start::default()).await.unwrap();
    assert_eq!((credential.grant, credential.tokens.unwrap().refresh), (Grant::ClientCredentials, None));
    let said = world.http.said_to("as.example");
    assert!(said.contains("Basic bWU6cw==") && !said.contains("client_id="));
}

/// The record is whole, and nothing secret prints.
#[tokio::test(start_paused = true)]
async fn a_credential_is_kept_whole_and_prints_nothing() {
    let world = World::new(Rules::default());
    let credential = world.log_in().await;
    let text = serde_json::to_string(&credential).unwrap();
    assert_eq!(serde_json::from_str::<Credential>(&text).unwrap(), credential);
    for kept in ["access-1", "refresh-1", "registered-secret", "registration-token", r#"\"extra\":[1]"#] {
        assert!(text.contains(kept), "{kept}");
    }
    let pending = pending(&world).await;
    let shown =
        format!("{credential:?} {pending:?} {:?} {:?}", world.settings, world.http.seen.lock().unwrap());
    for secret in [
        "access-1",
        "refresh-1",
        "registered-secret",
        "registration-token",
        "the-code",
        "id-canary",
        pending.state().expose(),
    ] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[test]
fn each_server_has_its_own_callback_where_we_register() {
    let server = |id: &str| Server { id: id.to_owned(), url: SERVER.to_owned() };
    let own = |id: &str, settings: &Settings| redirect_uri(&server(id), settings, 80);
    let registered = Settings::default();
    assert_ne!(own("a", &registered), own("b", &registered));
    assert!(own("a", &registered).starts_with("http://127.0.0.1:80/callback/"));
    let configured = Settings { client_id: Some("x".to_owned()), ..Settings::default() };
    assert_eq!(own("a", &configured), "http://127.0.0.1:80/callback");
}
