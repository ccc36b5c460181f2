mod refused;

use expect_test::{Expect, expect};

use crate::answer::{Answer, AnswerError, Answers};
use crate::choice::Way;
use crate::testing::{RECORDED, recorded_server, server};

fn text(text: &str) -> Answer {
    Answer::Text(text.to_owned())
}

fn secret(name: &str) -> Answer {
    Answer::Secret(name.to_owned())
}

/// Compares the entry one way of a recorded server gives.
fn check_entry(name: &str, choice: usize, answers: Vec<(&str, Answer)>, expected: Expect) {
    let server = recorded_server(name);
    let plan = server.choices()[choice].plan().unwrap();
    expected.assert_eq(&plan.entry(&answers.into_iter().collect()).unwrap());
}

/// Compares what is wrong with a package.
fn check_refused(package: &str, expected: &str) {
    let text = format!(r#"{{"name":"com.example/x","version":"1.0.0","packages":[{package}]}}"#);
    let server = server(&text);
    let refused = server.choices()[0].check().unwrap_err().to_string();
    assert!(refused.contains(expected), "{package}\n{refused}");
}

fn npm(more: &str) -> String {
    format!(
        r#"{{"registryType":"npm","identifier":"a","version":"1.0.0","transport":{{"type":"stdio"}}{more}}}"#
    )
}

fn oci(runtime_arguments: &str) -> String {
    format!(
        r#"{{"registryType":"oci","identifier":"a/b:1","transport":{{"type":"stdio"}},
            "environmentVariables":[{{"name":"KEY"}}],"runtimeArguments":[{runtime_arguments}]}}"#
    )
}

#[test]
fn npm_packages_run_by_npx() {
    check_entry(
        "npm-search",
        0,
        vec![("BRAVE_API_KEY", secret("BRAVE_API_KEY"))],
        expect![[r#"
            {
              "command": "npx",
              "args": [
                "-y",
                "@example/brave-search-mcp@1.0.2"
              ],
              "env": {
                "BRAVE_API_KEY": "${secret:BRAVE_API_KEY}",
                "LOG_LEVEL": "info"
              }
            }"#]],
    );
    let folders = Answer::Many(vec!["~/a".to_owned(), "/b c".to_owned()]);
    check_entry(
        "npm-filesystem",
        0,
        vec![("folder", folders)],
        expect![[r#"
        {
          "command": "npx",
          "args": [
            "-y",
            "@example/server-filesystem@2025.8.21",
            "~/a",
            "/b c"
          ]
        }"#]],
    );
    check_entry(
        "hybrid",
        1,
        vec![("mode", text("cached"))],
        expect![[r#"
        {
          "command": "npx",
          "args": [
            "-y",
            "@example/hybrid@1.5.0",
            "--stdio",
            "--mode",
            "cached"
          ]
        }"#]],
    );
}

#[test]
fn podman_takes_the_place_of_docker_where_only_it_is_there() {
    let server = recorded_server("oci-digest");
    let command = |there: &[&str]| {
        let plan = server.choices()[0].plan().unwrap().with_programs(|program| there.contains(&program));
        plan.summary().split(' ').next().unwrap().to_owned()
    };
    assert_eq!(command(&["podman"]), "podman");
    assert_eq!(command(&["podman", "docker"]), "docker");
    assert_eq!(command(&[]), "docker");
}

#[test]
fn pypi_packages_run_by_uvx() {
    let key = || ("WEATHER_API_KEY", Answer::Variable("WEATHER_KEY".to_owned()));
    check_entry(
        "pypi-weather",
        0,
        vec![key()],
        expect![[r#"
        {
          "command": "uvx",
          "args": [
            "weather-mcp-server==0.5.0",
            "serve"
          ],
          "env": {
            "WEATHER_API_KEY": "${WEATHER_KEY}",
            "WEATHER_UNITS": "celsius"
          }
        }"#]],
    );
    check_entry(
        "pypi-weather",
        0,
        vec![key(), ("port", text("8080"))],
        expect![[r#"
        {
          "command": "uvx",
          "args": [
            "weather-mcp-server==0.5.0",
            "--port",
            "8080",
            "serve"
          ],
          "env": {
            "WEATHER_API_KEY": "${WEATHER_KEY}",
            "WEATHER_UNITS": "celsius"
          }
        }"#]],
    );
}

#[test]
fn images_run_in_a_container_that_gets_only_its_own_variables() {
    let answers = vec![
        ("source_path", Answer::Many(vec!["/data/a".to_owned(), "/data/b".to_owned()])),
        ("target_path", Answer::Many(vec!["/project/a".to_owned(), "/project/b".to_owned()])),
        ("db_type", text("postgres")),
        ("DB_USERNAME", text("ada")),
        ("DB_PASSWORD", secret("DB_PASSWORD")),
        ("database_name", text("shop")),
    ];
    check_entry(
        "oci-database",
        0,
        answers,
        expect![[r#"
        {
          "command": "docker",
          "args": [
            "run",
            "-i",
            "--rm",
            "-e",
            "DB_USERNAME",
            "-e",
            "DB_PASSWORD",
            "--mount",
            "type=bind,src=/data/a,dst=/project/a",
            "--mount",
            "type=bind,src=/data/b,dst=/project/b",
            "-e",
            "DB_TYPE=postgres",
            "ghcr.io/example/database-manager-mcp:3.1.0",
            "--host",
            "localhost",
            "shop"
          ],
          "env": {
            "DB_USERNAME": "ada",
            "DB_PASSWORD": "${secret:DB_PASSWORD}"
          }
        }"#]],
    );
    check_entry(
        "oci-digest",
        0,
        vec![],
        expect![[r#"
        {
          "command": "docker",
          "args": [
            "run",
            "-i",
            "--rm",
            "--network",
            "none",
            "example/time-mcp@sha256:abababababababababababababababababababababababababababababababab"
          ]
        }"#]],
    );
}

#[test]
fn nuget_packages_run_by_dnx() {
    check_entry(
        "nuget-sample",
        0,
        vec![("WEATHER_CHOICES", text("sun,rain"))],
        expect![[r#"
        {
          "command": "dnx",
          "args": [
            "Example.SampleMcpServer@0.4.0-beta",
            "--yes",
            "--",
            "mcp",
            "start"
          ],
          "env": {
            "WEATHER_CHOICES": "sun,rain"
          }
        }"#]],
    );
}

#[test]
fn remotes_are_asked_at_their_address() {
    let answers = vec![("tenant_id", text("acme")), ("token", secret("DOCS_TOKEN"))];
    check_entry(
        "remote-docs",
        0,
        answers,
        expect![[r#"
        {
          "type": "http",
          "url": "https://acme.api.example.com/mcp",
          "headers": {
            "Authorization": "Bearer ${secret:DOCS_TOKEN}",
            "X-Region": "us-east-1"
          }
        }"#]],
    );
    check_entry(
        "remote-docs",
        1,
        vec![],
        expect![[r#"
        {
          "type": "sse",
          "url": "https://api.example.com/sse"
        }"#]],
    );
}

#[test]
fn each_way_of_each_server_can_be_told() {
    let mut told = String::new();
    for (name, _) in RECORDED {
        let server = recorded_server(name);
        for choice in server.choices() {
            let plan = match choice.source() {
                crate::Source::Mcpb => format!("{:?}", choice.check()),
                _ => choice.plan().map_or_else(|refused| refused.to_string(), |plan| plan.summary()),
            };
            told.push_str(&format!("{} {}: {plan}\n", server.suggested_id(), choice.source().name()));
        }
    }
    expect![[r#"
        brave-search npm: npx -y @example/brave-search-mcp@1.0.2
        filesystem npm: npx -y @example/server-filesystem@2025.8.21 <folder> --read-only=<read-only>
        weather pypi: uvx weather-mcp-server==0.5.0 --port <port> serve
        database-manager oci: docker run -i --rm -e DB_USERNAME -e DB_PASSWORD -e DB_SCHEMA --mount type=bind,src=<source_path>,dst=<target_path> -e DB_TYPE=<db_type> ghcr.io/example/database-manager-mcp:3.1.0 --host <host> <database_name>
        time oci: docker run -i --rm --network none example/time-mcp@sha256:abababababababababababababababababababababababababababababababab
        sample-dotnet nuget: dnx Example.SampleMcpServer@0.4.0-beta --yes -- mcp start
        text-editor mcpb: Ok(())
        docs http: https://<tenant_id>.api.example.com/mcp
        docs sse: https://api.example.com/sse
        hybrid npm: packages[0].transport: it is a server that has to run by itself; start it, then `manifold add NAME URL`
        hybrid npm: npx -y @example/hybrid@1.5.0 --stdio --mode <mode>
        hybrid http: https://mcp.example.com/mcp
        old-weather npm: npx -y @example/old-weather@0.9.5
        gone npm: npx -y gone-mcp@0.1.0
    "#]].assert_eq(&told);
}

#[test]
fn questions_say_what_their_inputs_say() {
    let server = recorded_server("oci-database");
    let plan = server.choices()[0].plan().unwrap();
    let told: Vec<String> = plan
        .questions()
        .iter()
        .map(|question| {
            let marks = [
                (question.required, "required"),
                (question.secret, "secret"),
                (question.repeated, "repeated"),
            ];
            let marks: Vec<&str> = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
            format!(
                "{} {marks:?} {:?} {:?} {}",
                question.name, question.default, question.choices, question.description
            )
        })
        .collect();
    expect![[r#"
        DB_USERNAME ["required"] [] [] Who signs in
        DB_PASSWORD ["required", "secret"] [] [] The password
        DB_SCHEMA [] [] [] If it is not the usual one
        source_path ["required", "repeated"] [] [] The folder here
        target_path ["required", "repeated"] ["/project"] [] Where the container sees it
        db_type ["required"] [] ["postgres", "mysql"] The kind of database
        host ["required"] ["localhost"] [] Where the database is
        database_name ["required"] [] [] Its name"#]]
    .assert_eq(&told.join("\n"));
    assert_eq!(plan.remarks(), ["its container sees type=bind,src=<source_path>,dst=<target_path>"]);
    assert_eq!(server.choices()[0].way(), Way::Package(0));
}

#[test]
fn answers_are_checked() {
    let server = recorded_server("npm-search");
    let plan = server.choices()[0].plan().unwrap();
    let error = |answers: Vec<(&str, Answer)>| plan.entry(&answers.into_iter().collect()).unwrap_err();
    let key = || ("BRAVE_API_KEY", secret("KEY"));
    assert_eq!(error(vec![]), AnswerError::Missing("BRAVE_API_KEY".to_owned()));
    assert_eq!(
        error(vec![("BRAVE_API_KEY", text("abc"))]),
        AnswerError::InTheClear("BRAVE_API_KEY".to_owned())
    );
    assert_eq!(error(vec![("BRAVE_API_KEY", secret("a}b"))]), AnswerError::Unfit("BRAVE_API_KEY".to_owned()));
    assert!(matches!(error(vec![key(), ("LOG_LEVEL", text("loud"))]), AnswerError::NotAChoice { .. }));
    assert_eq!(error(vec![key(), ("OTHER", text("x"))]), AnswerError::NotAsked("OTHER".to_owned()));
    let two = Answer::Many(vec!["info".to_owned(), "warn".to_owned()]);
    assert_eq!(error(vec![key(), ("LOG_LEVEL", two)]), AnswerError::Several("LOG_LEVEL".to_owned()));
    assert_eq!(error(vec![key(), ("LOG_LEVEL", text("a\nb"))]), AnswerError::Unfit("LOG_LEVEL".to_owned()));

    let weather = recorded_server("pypi-weather");
    let plan = weather.choices()[0].plan().unwrap();
    let answers: Answers = [("WEATHER_API_KEY", secret("K")), ("port", text("many"))].into_iter().collect();
    assert_eq!(plan.entry(&answers), Err(AnswerError::NotANumber("port".to_owned())));
}

#[test]
fn an_address_made_of_answers_is_checked_again() {
    let text = r#"{"name":"com.example/x","version":"1","remotes":[
        {"type":"streamable-http","url":"{base}/mcp","variables":{"base":{}}}]}"#;
    let server = server(text);
    let plan = server.choices()[0].plan().unwrap();
    let entry = |base: &str| plan.entry(&[("base", super::tests::text(base))].into_iter().collect());
    assert!(entry("https://a.example").is_ok());
    for base in ["file:///etc", "http://a.example", "javascript:alert(1)//", "a.example"] {
        assert_eq!(entry(base), Err(AnswerError::Address), "{base}");
    }
    assert_eq!(plan.entry(&Answers::default()), Err(AnswerError::Missing("base".to_owned())));
}
