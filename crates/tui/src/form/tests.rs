use super::*;

const SCHEMA: &str = r##"{
  "type": "object",
  "required": ["path", "count"],
  "properties": {
    "never": false,
    "note": {"type": "string", "description": "a note"},
    "path": {"type": "string"},
    "count": {"type": "integer", "default": 3},
    "deep": {"type": "boolean"},
    "color": {"enum": ["red", "blue"]},
    "limit": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "mode": {"$ref": "#/$defs/mode"}
  },
  "$defs": {"mode": {"enum": ["a", "b"]}}
}"##;

fn typed(form: &mut Form, name: &str, text: &str) {
    let field = form.fields.iter_mut().find(|field| field.name == name).unwrap();
    field.line = Line::new(text);
}

#[test]
fn what_must_be_given_comes_first_and_kinds_are_known() {
    let form = Form::new(SCHEMA);
    let names: Vec<&str> = form.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["path", "count", "note", "deep", "color", "limit", "tags", "mode"]);
    let kinds: Vec<String> = form.fields.iter().map(Field::takes).collect();
    assert_eq!(
        kinds,
        ["text", "whole number", "text", "true or false", "choice", "number or null", "JSON", "choice"]
    );
    assert_eq!(form.fields[2].about, "a note");
    assert_eq!(form.fields[1].default.as_deref(), Some("3"));
}

#[test]
fn what_is_left_out_is_not_sent_and_numbers_keep_their_spelling() {
    let mut form = Form::new(SCHEMA);
    assert_eq!(form.object(), None);
    assert_eq!((form.at, form.flaw.as_deref()), (1, Some("count: it must be given")));
    typed(&mut form, "count", "12");
    assert_eq!(form.object().unwrap(), r#"{"path":"","count":12}"#, "a required text may be empty");
    typed(&mut form, "limit", "1.50");
    typed(&mut form, "tags", r#"["x", 1]"#);
    assert_eq!(form.object().unwrap(), r#"{"path":"","count":12,"limit":1.50,"tags":["x", 1]}"#);
    typed(&mut form, "limit", "null");
    assert!(form.object().unwrap().contains(r#""limit":null"#));
    typed(&mut form, "tags", "x");
    assert_eq!(form.object(), None);
    assert!(form.flaw.as_deref().unwrap().starts_with("tags: JSON"));
}

#[test]
fn choices_go_round_with_nothing_among_them() {
    let mut form = Form::new(SCHEMA);
    let deep = form.fields.iter_mut().find(|field| field.name == "deep").unwrap();
    let seen: Vec<String> = (0..4)
        .map(|_| {
            deep.cycle(true);
            deep.line.text.clone()
        })
        .collect();
    assert_eq!(seen, ["true", "false", "", "true"]);
}

#[test]
fn what_is_edited_as_json_comes_back_into_the_fields() {
    let mut form = Form::new(SCHEMA);
    typed(&mut form, "path", "a\"b");
    typed(&mut form, "count", "1");
    assert_eq!(form.as_json(), "{\n  \"path\": \"a\\\"b\",\n  \"count\": 1\n}\n");
    form.take_json("{\"path\": \"c\", \"count\": 2e0,");
    assert!(form.flaw.is_some());
    assert_eq!(form.as_json(), "{\"path\": \"c\", \"count\": 2e0,", "what is no JSON is kept");
    form.take_json(r#"{"path": "c", "count": 7, "more": {"x": 1}}"#);
    assert_eq!(form.object().unwrap(), r#"{"path":"c","count":7,"more":{"x": 1}}"#);
}

#[test]
fn json_is_laid_out_and_keeps_its_spelling() {
    assert_eq!(
        json::pretty(r#"{"a":[1.0,{}],"b":"x,{\"y"}"#),
        "{\n  \"a\": [\n    1.0,\n    {}\n  ],\n  \"b\": \"x,{\\\"y\"\n}"
    );
}

#[test]
fn a_schema_that_refers_to_itself_or_is_none_does_no_harm() {
    let itself = r##"{"properties": {"a": {"$ref": "#/properties/a"}}}"##;
    assert_eq!(Form::new(itself).fields[0].takes(), "JSON");
    assert!(Form::new("7").fields.is_empty());
    assert!(Form::new("not json").fields.is_empty());
}
