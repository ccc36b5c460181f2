use serde_json::Value;

use super::*;

fn validator() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn every_format_is_valid_by_the_schema() {
    let validator = validator();
    for text in [
        include_str!("../../fixtures/mcps-proxy.json"),
        include_str!("../../fixtures/mcp-studio.json"),
        include_str!("../../fixtures/mcpmu.json"),
        include_str!("../../fixtures/mcp-all-in-one.json"),
        include_str!("../../fixtures/minimal.json"),
        r#"{"managerTools": {"stdio": true}, "prefixPrompts": "onClash", "start": "${START:-lazy}", "roots": [{"uri": "file:///"}]}"#,
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{text}");
    }
}

#[test]
fn what_draws_a_warning_is_not_valid() {
    let validator = validator();
    for text in [
        r#"{"servrs": {}}"#,
        r#"{"callTimeout": 5}"#,
        r#"{"servers": {"a": {"comand": "x"}}}"#,
        r#"{"logging": {"level": "loud"}}"#,
        r#"{"schemas": {"a": {"mcpServers": []}}}"#,
    ] {
        assert!(!validator.is_valid(&serde_json::from_str(text).unwrap()), "{text}");
    }
}

#[test]
fn every_key_is_described() {
    fn check_described(name: &str, schema: &Value) {
        for (key, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].as_str().is_some_and(|text| text.ends_with('.')), "{name}.{key}");
        }
    }
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    check_described("config", &schema);
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        check_described(name, definition);
    }
}
