use expect_test::expect;

use super::{check, edit, remove};
use crate::edit::{Edit, PermissionKind};

const NAMESPACES: &str = r#"{
  "servers": {
    "a": {"command": "a"},
    "b": {"command": "b"}
  },
  "namespaces": [
    {"id": "n", "serverIds": ["a", "b"], "serverDefaults": {"a": true}}, // all
    {"id": "m", "serverIds": ["a"]}
  ],
  "toolPermissions": [
    {"namespaceId": "n", "serverId": "a", "toolName": "t", "enabled": false}, // why
    {"namespaceId": "n", "serverId": "b", "toolName": "t", "promptName": "t", "enabled": true}
  ]
}
"#;

#[test]
fn a_server_leaves_the_namespaces_and_rules_that_name_it() {
    check(
        "c.json",
        NAMESPACES,
        &remove("a"),
        expect![[r#"
        {
          "servers": {
            "b": {"command": "b"}
          },
          "namespaces": [
            {"id": "n", "serverIds": ["b"], "serverDefaults": {}}, // all
            {"id": "m", "serverIds": []}
          ],
          "toolPermissions": [
            // why
            {"namespaceId": "n", "serverId": "b", "toolName": "t", "promptName": "t", "enabled": true}
          ]
        }
    "#]],
    );
    check(
        "c.json",
        NAMESPACES,
        &Edit::RenameServer { id: "a".into(), to: "z".into() },
        expect![[r#"
        {
          "servers": {
            "z": {"command": "a"},
            "b": {"command": "b"}
          },
          "namespaces": [
            {"id": "n", "serverIds": ["z", "b"], "serverDefaults": {"z": true}}, // all
            {"id": "m", "serverIds": ["z"]}
          ],
          "toolPermissions": [
            {"namespaceId": "n", "serverId": "z", "toolName": "t", "enabled": false}, // why
            {"namespaceId": "n", "serverId": "b", "toolName": "t", "promptName": "t", "enabled": true}
          ]
        }
    "#]],
    );
    check(
        "c.json",
        NAMESPACES,
        &Edit::RenameServer { id: "a".into(), to: "b".into() },
        expect!["refused: there is a server 'b' already"],
    );
}

#[test]
fn rules_are_turned_added_and_taken_back() {
    let set = |namespace: &str, server: &str, kind, name: &str, allow| Edit::SetPermission {
        namespace: namespace.to_owned(),
        server: server.to_owned(),
        kind,
        name: name.to_owned(),
        allow,
    };
    let tool = PermissionKind::Tool;
    assert_eq!(edit("c.json", NAMESPACES, &set("n", "a", tool, "t", Some(false))).unwrap(), NAMESPACES);
    check(
        "c.json",
        NAMESPACES,
        &set("n", "a", tool, "t", Some(true)),
        expect![[r#"
        {
          "servers": {
            "a": {"command": "a"},
            "b": {"command": "b"}
          },
          "namespaces": [
            {"id": "n", "serverIds": ["a", "b"], "serverDefaults": {"a": true}}, // all
            {"id": "m", "serverIds": ["a"]}
          ],
          "toolPermissions": [
            {"namespaceId": "n", "serverId": "a", "toolName": "t", "enabled": true}, // why
            {"namespaceId": "n", "serverId": "b", "toolName": "t", "promptName": "t", "enabled": true}
          ]
        }
    "#]],
    );
    check(
        "c.json",
        NAMESPACES,
        &set("n", "a", tool, "t", None),
        expect![[r#"
        {
          "servers": {
            "a": {"command": "a"},
            "b": {"command": "b"}
          },
          "namespaces": [
            {"id": "n", "serverIds": ["a", "b"], "serverDefaults": {"a": true}}, // all
            {"id": "m", "serverIds": ["a"]}
          ],
          "toolPermissions": [
            // why
            {"namespaceId": "n", "serverId": "b", "toolName": "t", "promptName": "t", "enabled": true}
          ]
        }
    "#]],
    );
    check(
        "c.json",
        NAMESPACES,
        &set("n", "b", tool, "t", Some(false)),
        expect![[r#"
        {
          "servers": {
            "a": {"command": "a"},
            "b": {"command": "b"}
          },
          "namespaces": [
            {"id": "n", "serverIds": ["a", "b"], "serverDefaults": {"a": true}}, // all
            {"id": "m", "serverIds": ["a"]}
          ],
          "toolPermissions": [
            {"namespaceId": "n", "serverId": "a", "toolName": "t", "enabled": false}, // why
            {"namespaceId": "n", "serverId": "b", "toolName": "t", "promptName": "t", "enabled": true},
            {"namespaceId": "n", "serverId": "b", "toolName": "t", "enabled": false}
          ]
        }
    "#]],
    );
    check(
        "c.json",
        NAMESPACES,
        &set("n", "b", tool, "t", None),
        expect![[r#"
        {
          "servers": {
            "a": {"command": "a"},
            "b": {"command": "b"}
          },
          "namespaces": [
            {"id": "n", "serverIds": ["a", "b"], "serverDefaults": {"a": true}}, // all
            {"id": "m", "serverIds": ["a"]}
          ],
          "toolPermissions": [
            {"namespaceId": "n", "serverId": "a", "toolName": "t", "enabled": false}, // why
            {"namespaceId": "n", "serverId": "b", "promptName": "t", "enabled": true}
          ]
        }
    "#]],
    );
    check(
        "c.json",
        NAMESPACES,
        &set("n", "b", PermissionKind::Resource, "u://x", Some(true)),
        expect![[r#"
            {
              "servers": {
                "a": {"command": "a"},
                "b": {"command": "b"}
              },
              "namespaces": [
                {"id": "n", "serverIds": ["a", "b"], "serverDefaults": {"a": true}}, // all
                {"id": "m", "serverIds": ["a"]}
              ],
              "toolPermissions": [
                {"namespaceId": "n", "serverId": "a", "toolName": "t", "enabled": false}, // why
                {"namespaceId": "n", "serverId": "b", "toolName": "t", "promptName": "t", "enabled": true},
                {"namespaceId": "n", "serverId": "b", "resourceUri": "u://x", "enabled": true}
              ]
            }
        "#]],
    );
    check(
        "c.json",
        NAMESPACES,
        &set("x", "b", tool, "t", None),
        expect!["refused: there is no namespace 'x'; there is n, m"],
    );
    check(
        "c.json",
        NAMESPACES,
        &set("m", "b", tool, "t", None),
        expect!["refused: 'b' is not a server of namespace 'm'"],
    );
    let schemas = "{\n  \"schemas\": {\n    \"s\": {\"mcpServers\": {\"a\": {\"command\": \"a\"}}}\n  }\n}\n";
    check(
        "c.json",
        schemas,
        &set("s", "s/a", tool, "t", Some(false)),
        expect![[r#"
        {
          "schemas": {
            "s": {"mcpServers": {"a": {"command": "a"}}}
          },
          "toolPermissions": [
            {
              "namespace": "s",
              "server": "a",
              "toolName": "t",
              "enabled": false
            }
          ]
        }
    "#]],
    );
}

#[test]
fn rules_and_namespaces_of_other_syntaxes_are_changed_too() {
    let deny = |name: &str, allow| Edit::SetPermission {
        namespace: "n".to_owned(),
        server: "a".to_owned(),
        kind: PermissionKind::Tool,
        name: name.to_owned(),
        allow,
    };
    let toml = "[servers.a]\ncommand = \"a\"\n\n[namespaces.n]\nserverIds = [\"a\", \"b\"] # both\n\n[servers.b]\ncommand = \"b\"\n";
    let yaml = "servers:\n  a:\n    command: a\n  b:\n    command: b\nnamespaces:\n  n:\n    serverIds:\n    - a # first\n    - b\n";
    for (name, text) in [("c.toml", toml), ("c.yaml", yaml)] {
        let one = edit(name, text, &deny("t", Some(false))).unwrap();
        let two = edit(name, &one, &deny("u", Some(true))).unwrap();
        assert_eq!(edit(name, &two, &deny("t", Some(false))).unwrap(), two);
        assert_eq!(edit(name, &two, &deny("u", None)).unwrap(), one);
    }
    let with = |name, text| edit(name, text, &deny("t", Some(false))).unwrap();
    check(
        "c.toml",
        &with("c.toml", toml),
        &deny("t", Some(true)),
        expect![[r#"
        [servers.a]
        command = "a"

        [namespaces.n]
        serverIds = ["a", "b"] # both

        [servers.b]
        command = "b"

        [[toolPermissions]]
        namespace = "n"
        server = "a"
        toolName = "t"
        enabled = true
    "#]],
    );
    check(
        "c.toml",
        &with("c.toml", toml),
        &remove("a"),
        expect![[r#"
            [namespaces.n]
            serverIds = ["b"] # both

            [servers.b]
            command = "b"
        "#]],
    );
    check(
        "c.yaml",
        &with("c.yaml", yaml),
        &deny("t", Some(true)),
        expect![[r#"
        servers:
          a:
            command: a
          b:
            command: b
        namespaces:
          n:
            serverIds:
            - a # first
            - b
        toolPermissions:
          - namespace: "n"
            server: a
            toolName: t
            enabled: true
    "#]],
    );
    check(
        "c.yaml",
        &with("c.yaml", yaml),
        &remove("a"),
        expect![[r#"
        servers:
          b:
            command: b
        namespaces:
          n:
            serverIds:
            # first
            - b
        toolPermissions: []
    "#]],
    );
}

#[test]
fn the_last_rule_takes_its_list_with_it() {
    let text = "{\n  \"servers\": {\"a\": {\"command\": \"a\"}},\n  \"namespaces\": [{\"id\": \"n\", \"serverIds\": [\"a\"]}]\n}\n";
    let rule = |allow| Edit::SetPermission {
        namespace: "n".into(),
        server: "a".into(),
        kind: PermissionKind::Tool,
        name: "t".into(),
        allow,
    };
    let denied = edit("c.json", text, &rule(Some(false))).unwrap();
    assert_eq!(edit("c.json", &denied, &rule(None)).unwrap(), text);
}

#[test]
fn a_server_joins_a_namespace_once() {
    let join = |namespace: &str, server: &str| Edit::JoinNamespace {
        namespace: namespace.to_owned(),
        server: server.to_owned(),
    };
    let with = edit("c.json", NAMESPACES, &join("m", "b")).unwrap();
    assert_eq!(with, NAMESPACES.replace(r#""m", "serverIds": ["a"]"#, r#""m", "serverIds": ["a", "b"]"#));
    assert_eq!(edit("c.json", &with, &join("m", "b")).unwrap(), with);
    check(
        "c.json",
        NAMESPACES,
        &join("o", "b"),
        expect!["refused: there is no namespace 'o'; there is n, m"],
    );
    check("c.json", NAMESPACES, &join("m", "c"), expect!["refused: there is no server 'c'; there is a, b"]);
    let toml = "[servers.a]\ncommand = \"a\"\n\n[namespaces.n]\nname = \"N\"\n";
    let with = edit("c.toml", toml, &join("n", "a")).unwrap();
    assert_eq!(with, format!("{toml}serverIds = [\"a\"]\n"));
}
