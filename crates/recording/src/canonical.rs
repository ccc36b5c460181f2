//! JSON by its meaning: one text for all ways to write the same.

use serde_json::Value;
use serde_json::value::RawValue;

/// Returns the parameters of a request as they are compared: members in order, without what differs from one asking to
/// the next (`_meta` with its progress token, and the state of a retry, which is the server's).
pub fn canonical(params: Option<&RawValue>) -> String {
    let mut value: Value = params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    if let Value::Object(members) = &mut value {
        for left_out in ["_meta", "progressToken", "requestState"] {
            members.remove(left_out);
        }
        if members.is_empty() {
            value = Value::Null;
        }
    }
    let mut text = String::new();
    write(&value, &mut text);
    text
}

/// Returns any value with its members in order.
pub(crate) fn canonical_value(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            // Whether a map keeps its order depends on who else is built with us.
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            text.push('{');
            for (place, (name, value)) in members.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(params: &str, expected: &str) {
        let raw = RawValue::from_string(params.to_owned()).unwrap();
        assert_eq!(canonical(Some(&raw)), expected);
    }

    #[test]
    fn order_blanks_and_what_differs_each_time_do_not_count() {
        check(r#"{ "b": 1, "a": {"d": [1, 2], "c": "x"}}"#, r#"{"a":{"c":"x","d":[1,2]},"b":1}"#);
        check(r#"{"name":"t","_meta":{"progressToken":5}}"#, r#"{"name":"t"}"#);
        check(r#"{"_meta":{"progressToken":5}}"#, "null");
        check("{}", "null");
        assert_eq!(canonical(None), "null");
    }

    #[test]
    fn order_of_items_and_numbers_as_written_count() {
        check("[2, 1]", "[2,1]");
        check(r#"{"a":1.0}"#, r#"{"a":1.0}"#);
    }
}
