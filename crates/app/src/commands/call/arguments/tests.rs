use std::io;

use super::super::address::Address;
use super::super::signature::{example, signature};
use super::*;

/// One argument of every kind; none is required.
const KINDS: &str = r##"{"type":"object","properties":{
    "text":{"type":"string"},"count":{"type":"integer"},"ratio":{"type":"number"},"on":{"type":"boolean"},
    "nothing":{"type":"null"},"any":{},"whatever":true,"described":{"description":"of no type"},
    "maybe":{"type":["string","null"]},"open":{"type":"integer","nullable":true},
    "either":{"anyOf":[{"type":"integer"},{"type":"string"}]},"one":{"oneOf":[{"type":"boolean"},{"type":"null"}]},
    "level":{"type":"string","enum":["low","high"]},"step":{"enum":[1,2.5,"x",null,true]},"fixed":{"const":"v1"},
    "tags":{"type":"array","items":{"type":"string"}},"nums":{"type":"array","items":{"type":"integer"}},
    "list":{"type":"array"},"rows":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},
    "maybeTags":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]},
    "textOrTags":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},
    "opts":{"type":"object","properties":{"depth":{"type":"integer"},"deep":{"type":"object","properties":
        {"on":{"type":"boolean"}}},"need":{"type":"string"}},"required":["need"]},
    "free":{"type":"object"},"numbers":{"type":"object","additionalProperties":{"type":"number"}},
    "x.y":{"type":"integer"},"ref":{"$ref":"#/$defs/Size"},"both":{"allOf":[{"$ref":"#/$defs/Size"}]},
    "self":{"$ref":"#/$defs/Node"},"objects":{"type":"array","items":{"type":"object"}},"größe":{"type":"integer"}
},"$defs":{"Size":{"type":"integer"},"Node":{"type":"array","items":{"$ref":"#/$defs/Node"}}}}"##;

fn schema(text: &str) -> Schema {
    Schema::new(Raw::parse(text.to_owned()).unwrap())
}

/// The files there are.
fn read(name: &str) -> io::Result<Vec<u8>> {
    let text: &[u8] = match name {
        "note.txt" => "two\nlines \"quoted\"\n".as_bytes(),
        "number.txt" => b"42\n",
        "data.json" => b" {\"b\": 1.0,\n \"a\": [1e2]} \n",
        "args.json" => b"{\"text\": \"from a file\"}\n",
        "-" => b"{\"text\":\"from standard input\"}",
        "latin1" => b"\xff",
        _ => return Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
    };
    Ok(text.to_vec())
}

fn built(pairs: &[&str], args: Option<&str>, schema: &Schema) -> Result<String, String> {
    let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
    build(&Typed { function: &[], pairs: &pairs, args }, schema, &read).map_err(|error| error.to_string())
}

#[track_caller]
fn check(pairs: &[&str], expected: &str) {
    assert_eq!(built(pairs, None, &schema(KINDS)), Ok(expected.to_owned()), "{pairs:?}");
}

#[track_caller]
fn refused(pairs: &[&str], expected: &str) {
    assert_eq!(built(pairs, None, &schema(KINDS)), Err(expected.to_owned()), "{pairs:?}");
}

#[test]
fn values_are_what_their_schema_says() {
    let table = [
        ("text=hello", r#"{"text":"hello"}"#),
        ("text=012", r#"{"text":"012"}"#),
        ("text=12", r#"{"text":"12"}"#),
        ("text=true", r#"{"text":"true"}"#),
        ("text=null", r#"{"text":"null"}"#),
        ("text=", r#"{"text":""}"#),
        ("text= two  spaces ", r#"{"text":" two  spaces "}"#),
        ("text=a=b=c", r#"{"text":"a=b=c"}"#),
        ("text=a:=b", r#"{"text":"a:=b"}"#),
        ("text={\"a\":1}", r#"{"text":"{\"a\":1}"}"#),
        ("text=say \"hi\"\\n", r#"{"text":"say \"hi\"\\n"}"#),
        ("text=line\nline\ttab", r#"{"text":"line\nline\ttab"}"#),
        ("text=Zürich 東京 🚀", r#"{"text":"Zürich 東京 🚀"}"#),
        ("größe=3", r#"{"größe":3}"#),
        ("count=12", r#"{"count":12}"#),
        ("count=-7", r#"{"count":-7}"#),
        ("count=0", r#"{"count":0}"#),
        ("count=12345678901234567890123", r#"{"count":12345678901234567890123}"#),
        ("ratio=0.1000", r#"{"ratio":0.1000}"#),
        ("ratio=1e400", r#"{"ratio":1e400}"#),
        ("ratio=3", r#"{"ratio":3}"#),
        ("on=true", r#"{"on":true}"#),
        ("on=false", r#"{"on":false}"#),
        ("nothing=null", r#"{"nothing":null}"#),
        ("any=012", r#"{"any":"012"}"#),
        ("any=12", r#"{"any":"12"}"#),
        ("any=true", r#"{"any":"true"}"#),
        ("whatever=1", r#"{"whatever":"1"}"#),
        ("described=null", r#"{"described":"null"}"#),
        ("maybe=null", r#"{"maybe":null}"#),
        ("maybe=nul", r#"{"maybe":"nul"}"#),
        ("open=null", r#"{"open":null}"#),
        ("open=4", r#"{"open":4}"#),
        ("either=12", r#"{"either":12}"#),
        ("either=012", r#"{"either":"012"}"#),
        ("either=1.5", r#"{"either":"1.5"}"#),
        ("one=true", r#"{"one":true}"#),
        ("level=high", r#"{"level":"high"}"#),
        ("step=1", r#"{"step":1}"#),
        ("step=2.5", r#"{"step":2.5}"#),
        ("step=x", r#"{"step":"x"}"#),
        ("step=null", r#"{"step":null}"#),
        ("fixed=v1", r#"{"fixed":"v1"}"#),
        ("ref=5", r#"{"ref":5}"#),
        ("both=5", r#"{"both":5}"#),
        ("x.y=5", r#"{"x.y":5}"#),
        ("x\\.y=5", r#"{"x.y":5}"#),
    ];
    for (pair, expected) in table {
        check(&[pair], expected);
    }
}

#[test]
fn lists_and_objects_are_built() {
    check(&[], "{}");
    check(&["text=b", "count=1", "any=c"], r#"{"text":"b","count":1,"any":"c"}"#);
    check(&["tags=a"], r#"{"tags":["a"]}"#);
    check(&["tags="], r#"{"tags":[""]}"#);
    check(&["tags=a", "text=t", "tags=b"], r#"{"tags":["a","b"],"text":"t"}"#);
    check(&["tags=[\"a\"]"], r#"{"tags":["[\"a\"]"]}"#);
    check(&["nums=1", "nums=2"], r#"{"nums":[1,2]}"#);
    check(&["nums=1", "nums:=2.0"], r#"{"nums":[1,2.0]}"#);
    check(&["list=1"], r#"{"list":["1"]}"#);
    check(&["rows=1", "rows=2"], r#"{"rows":[[1],[2]]}"#);
    check(&["maybeTags=null"], r#"{"maybeTags":null}"#);
    check(&["maybeTags=a"], r#"{"maybeTags":["a"]}"#);
    check(&["textOrTags=a"], r#"{"textOrTags":"a"}"#);
    check(&["textOrTags=a", "textOrTags=b"], r#"{"textOrTags":["a","b"]}"#);
    check(&["any=1", "any=2"], r#"{"any":["1","2"]}"#);
    check(
        &["opts.need=x", "text=t", "opts.depth=2", "opts.deep.on=true"],
        r#"{"opts":{"need":"x","depth":2,"deep":{"on":true}},"text":"t"}"#,
    );
    check(&["opts={\"depth\": 1.0}"], r#"{"opts":{"depth": 1.0}}"#);
    check(&["free.a=1", "free.b.c=2", "free.b.d=x"], r#"{"free":{"a":"1","b":{"c":"2","d":"x"}}}"#);
    check(&["free.a\\.b=1"], r#"{"free":{"a.b":"1"}}"#);
    check(&["free.a\\=b=1"], r#"{"free":{"a=b":"1"}}"#);
    check(&["any.a=1"], r#"{"any":{"a":"1"}}"#);
    check(&["numbers.a=1", "numbers.b=2.50"], r#"{"numbers":{"a":1,"b":2.50}}"#);
    check(&["objects={\"a\":1}", "objects={}"], r#"{"objects":[{"a":1},{}]}"#);
}

#[test]
fn json_is_sent_as_it_is() {
    check(&["count:=12345678901234567890.10"], r#"{"count":12345678901234567890.10}"#);
    check(&["text:=12"], r#"{"text":12}"#);
    check(&["tags:=[ \"a\",1 ]"], r#"{"tags":[ "a",1 ]}"#);
    check(&["tags:=[]"], r#"{"tags":[]}"#);
    check(&["opts:={\"b\":1,\"a\":{ }}"], r#"{"opts":{"b":1,"a":{ }}}"#);
    check(&["maybe:=\"null\""], r#"{"maybe":"null"}"#);
    check(&["text:=\"\\u00fc@\""], r#"{"text":"\u00fc@"}"#);
    check(&["rows:=[1,2]", "rows:=[3]"], r#"{"rows":[[1,2],[3]]}"#);
}

#[test]
fn files_are_read() {
    check(&["text=@note.txt"], r#"{"text":"two\nlines \"quoted\"\n"}"#);
    check(&["count=@number.txt"], r#"{"count":42}"#);
    check(&["any=@number.txt"], r#"{"any":"42\n"}"#);
    check(&["free:=@data.json"], "{\"free\":{\"b\": 1.0,\n \"a\": [1e2]}}");
    check(&["tags=@number.txt", "tags=b"], r#"{"tags":["42\n","b"]}"#);
    refused(&["text=@gone.txt"], "`text`: the file `gone.txt` cannot be read: no such file");
    refused(&["text=@latin1"], "`text`: the file `latin1` cannot be read: it is not UTF-8");
    refused(
        &["free:=@note.txt"],
        "`free:=` takes JSON, and `two\nlines \"quoted\"\n` is none; a text is written `free=…`",
    );
}

#[test]
fn an_object_is_given_whole() {
    let whole = |args: &str, pairs: &[&str]| built(pairs, Some(args), &schema(KINDS));
    let is = |text: &str| Ok(text.to_owned());
    assert_eq!(whole(r#" { "count" : 1.0 } "#, &[]), is(r#"{ "count" : 1.0 }"#));
    assert_eq!(whole("@args.json", &[]), is(r#"{"text": "from a file"}"#));
    assert_eq!(whole("-", &[]), is(r#"{"text":"from standard input"}"#));
    assert_eq!(whole(r#"{"text":"a","count":1}"#, &["text=b"]), is(r#"{"text":"b","count":1}"#));
    assert_eq!(
        whole(r#"{"opts":{"need":"x","depth":1.0}}"#, &["opts.depth=2", "on=true"]),
        is(r#"{"opts":{"need":"x","depth":2},"on":true}"#)
    );
    let no_object = "--args takes a JSON object, such as '{\"name\": 1}', @file, or - for standard input";
    for wrong in ["[1]", "12", "{", "", "null"] {
        assert_eq!(whole(wrong, &[]), Err(no_object.to_owned()), "{wrong}");
    }
    assert_eq!(
        whole(r#"{"txt":1}"#, &[]),
        Err("there is no argument `txt`; did you mean `text`?".to_owned())
    );
    assert_eq!(whole("@gone", &[]), Err("`--args`: the file `gone` cannot be read: no such file".to_owned()));
}

#[test]
fn what_does_not_fit_is_refused() {
    refused(&["count=abc"], "`count` takes an integer, and `abc` is none");
    for wrong in ["012", "1.5", "1e3", "+1", "0x10", "", " 1", "-", "1_000", "١"] {
        refused(&[&format!("count={wrong}")], &format!("`count` takes an integer, and `{wrong}` is none"));
    }
    for wrong in ["01", ".5", "1.", "NaN", "Infinity", "1,5"] {
        refused(&[&format!("ratio={wrong}")], &format!("`ratio` takes a number, and `{wrong}` is none"));
    }
    for wrong in ["True", "yes", "1", ""] {
        refused(&[&format!("on={wrong}")], &format!("`on` takes true or false, and `{wrong}` is none"));
    }
    refused(&["level=mid"], "`level` takes one of low, high, and `mid` is none");
    refused(&["fixed=v2"], "`fixed` takes v1, and `v2` is none");
    refused(&["one=x"], "`one` takes true or false or null, and `x` is none");
    refused(&["open=x"], "`open` takes null or an integer, and `x` is none");
    refused(&["nums=1", "nums=x"], "`nums` takes an integer, and `x` is none");
    refused(&["nums=[1,2]"], "`nums` takes a list of which each is an integer, and `[1,2]` is none");
    refused(&["free=x"], "`free` takes an object, and `x` is none");
    refused(&["free=[1]"], "`free` takes an object, and `[1]` is none");
    refused(&["opts.depth=x", "opts.need=y"], "`opts.depth` takes an integer, and `x` is none");
    refused(&["text=a", "text=b"], "`text` is given more than once, and takes a text");
    refused(&["text.a=b"], "`text` has no members: it takes a text");
    refused(
        &["free={}", "free.a=1"],
        "`free.a`: `free` is given as a whole and member by member; write one or the other",
    );
    refused(
        &["free.a=1", "free={}"],
        "`free`: `free` is given as a whole and member by member; write one or the other",
    );
    refused(&["count:=abc"], "`count:=` takes JSON, and `abc` is none; a text is written `count=…`");
    refused(&["any:=012"], "`any:=` takes JSON, and `012` is none; a text is written `any=…`");
    refused(&["any:="], "`any:=` takes JSON, and `` is none; a text is written `any=…`");
    refused(&["text"], "`text` is no argument: write `name=value`, or `name:=JSON`");
    refused(&["=x"], "`=x` has no name before its value");
    refused(&["cuont=1"], "there is no argument `cuont`; did you mean `count`?");
    refused(&["opts.dept=1"], "there is no argument `opts.dept`; did you mean `depth`?");
    refused(&["opts.depth=1"], "`opts.need` is missing");
    // A list of lists of itself is asked no further than makes sense.
    assert!(built(&["self=x"], None, &schema(KINDS)).is_err());
}

#[test]
fn what_must_be_there_is() {
    let two = schema(
        r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}"#,
    );
    assert_eq!(built(&[], None, &two), Err("`a`, `b` are missing".to_owned()));
    assert_eq!(built(&["b=1"], None, &two), Err("`a` is missing".to_owned()));
    assert_eq!(built(&["b=1", "a=x"], None, &two), Ok(r#"{"b":1,"a":"x"}"#.to_owned()));
    let one_of = schema(
        r#"{"properties":{"id":{"type":"integer"},"name":{"type":"string"}},"anyOf":[{"required":["id"]},{"required":["name"]}]}"#,
    );
    assert_eq!(built(&["name=x"], None, &one_of), Ok(r#"{"name":"x"}"#.to_owned()));
    assert_eq!(built(&[], None, &one_of), Err("`id` is missing".to_owned()));
    // Members that only some alternatives have.
    let shapes = schema(
        r#"{"oneOf":[{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},
        {"type":"object","properties":{"kind":{"const":"box"},"w":{"type":"number"}},"required":["kind","w"]}]}"#,
    );
    assert_eq!(built(&["kind=box", "w=2"], None, &shapes), Ok(r#"{"kind":"box","w":2}"#.to_owned()));
    assert_eq!(
        built(&["kind=line", "w=2"], None, &shapes),
        Err("`kind` takes circle or box, and `line` is none".to_owned())
    );
}

#[test]
fn a_schema_of_endless_alternatives_is_read_in_part() {
    let same = vec![r##"{"$ref":"#"}"##; 50].join(",");
    let endless = schema(&format!(r#"{{"anyOf":[{same}],"allOf":[{same}]}}"#));
    assert_eq!(built(&["a=1"], None, &endless), Ok(r#"{"a":"1"}"#.to_owned()));
}

#[test]
fn names_nobody_declared() {
    let none = schema(r#"{"type":"object","properties":{},"additionalProperties":false}"#);
    assert_eq!(built(&["a=1"], None, &none), Err("there is no argument `a`; none can be given".to_owned()));
    let open =
        schema(r#"{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":true}"#);
    assert_eq!(built(&["a=1", "n=1"], None, &open), Ok(r#"{"a":"1","n":1}"#.to_owned()));
    for silent in ["{}", r#"{"type":"object"}"#, "true", "null"] {
        assert_eq!(built(&["a.b=1"], None, &schema(silent)), Ok(r#"{"a":{"b":"1"}}"#.to_owned()), "{silent}");
    }
    let far = schema(r#"{"properties":{"alpha":{},"beta":{}}}"#);
    assert_eq!(
        built(&["zzz=1"], None, &far),
        Err("there is no argument `zzz`; there are alpha, beta".to_owned())
    );
}

#[test]
fn the_function_form_gives_json() {
    let form = |text: &str| {
        let address = Address::parse(text).map_err(|error| error.to_string())?;
        build(&Typed { function: &address.arguments, pairs: &[], args: None }, &schema("{}"), &read)
            .map(|json| format!("{} {json}", address.name))
            .map_err(|error| error.to_string())
    };
    let is = |text: &str| Ok(text.to_owned());
    assert_eq!(form(r#"s.t(a: 1, b: "x")"#), is(r#"s.t {"a":1,"b":"x"}"#));
    assert_eq!(form("s__t"), is("s__t {}"));
    assert_eq!(form("s.t()"), is("s.t {}"));
    assert_eq!(
        form("s.t(a:'it\\'s \"so\"', 'b c': [1, 2.50,], d: {e: null, \"f\": {}},)"),
        is(r#"s.t {"a":"it's \"so\"","b c":[1,2.50],"d":{"e":null,"f":{}}}"#)
    );
    assert_eq!(
        form("s.t(big: 12345678901234567890, on=true)"),
        is(r#"s.t {"big":12345678901234567890,"on":true}"#)
    );
    assert_eq!(form("s.t(a.b: \"(,)\")"), is(r#"s.t {"a.b":"(,)"}"#));
    let end = "; the form is 'server.tool(name: 1, other: \"text\")'";
    for (wrong, why) in [
        ("s.t(a: x)", "a value is missing; a text stands in quotes at `x)`"),
        ("s.t(a: 012)", "a value is missing; a text stands in quotes at `012)`"),
        ("s.t(a: 1", "a comma or the closing bracket is missing at ``"),
        ("s.t(1)", "a colon is missing after the name at `)`"),
        ("s.t(a: 1) b", "something follows the bracket at `b`"),
        ("s.t(a: \"x)", "a text is not closed at `\"x)`"),
        ("s.t(: 1)", "a name is missing at `: 1)`"),
        ("s.t(a: [1)", "a comma or `]` is missing at `)`"),
    ] {
        assert_eq!(form(wrong), Err(format!("{why}{end}")), "{wrong}");
    }
    assert!(form(&format!("s.t(a: {})", "[".repeat(10_000))).is_err());
}

#[test]
fn whoever_is_refused_sees_how_it_is_called() {
    let tool = schema(
        r#"{"properties":{"text":{"type":"string"},"level":{"enum":["low","high"]},"tags":{"type":"array","items":{"type":"string"}},
        "either":{"anyOf":[{"type":"integer"},{"type":"null"}]},"any":{},"rows":{"type":"array","items":{"anyOf":[{"type":"string"},
        {"type":"integer"}]}},"opts":{"type":"object"}},"required":["text","level","opts"]}"#,
    );
    assert_eq!(
        signature("s__t", &tool),
        r#"s__t(text: string, level: "low" | "high", tags?: string[], either?: integer | null, any?: any, rows?: (string | integer)[], opts: object)"#
    );
    assert_eq!(example("call", "s__t", &tool), "manifold call s__t text=TEXT level=low 'opts:={}'");
    let optional =
        schema(r#"{"properties":{"zone":{"type":"string","default":"it's UTC"},"n":{"type":"integer"}}}"#);
    assert_eq!(example("call", "t", &optional), "manifold call t 'zone=it'\\''s UTC'");
    assert_eq!(signature("t", &schema("{}")), "t()");
}

/// Somebody would type into standard input for nothing.
#[test]
fn an_unknown_argument_is_said_before_anything_is_read() {
    let never = |_: &str| -> io::Result<Vec<u8>> { panic!("nothing is read") };
    let pairs = ["text=@-".to_owned(), "txt=@-".to_owned()];
    let typed = Typed { function: &[], pairs: &pairs, args: Some("-") };
    let schema =
        schema(r#"{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false}"#);
    assert!(
        matches!(build(&typed, &schema, &never), Err(ArgumentError::Unknown { name, .. }) if name == "txt")
    );
}

#[test]
fn a_file_without_end_is_refused() {
    assert!(super::super::asker::read_file("/dev/zero").is_err_and(|why| why.to_string().contains("64 MiB")));
}

// What stands in brackets or in `--args` has a type, and is held to it; `:=` is sent as it is.
#[test]
fn values_that_come_with_a_type_must_fit() {
    let schema = schema(
        r#"{"properties":{"n":{"type":"integer"},"s":{"type":"string"},"l":{"type":"array","items":{"type":"number"}},
            "e":{"enum":["a",1]},"o":{"anyOf":[{"type":"boolean"},{"type":"null"}]},"x":{}}}"#,
    );
    let function = |text: &str| {
        let address = Address::parse(&format!("t({text})")).expect("it can be read");
        build(&Typed { function: &address.arguments, pairs: &[], args: None }, &schema, &read)
    };
    let args = |text: &str| {
        let text = format!("{{{text}}}");
        build(&Typed { function: &[], pairs: &[], args: Some(&text) }, &schema, &read)
    };
    for (name, value) in
        [("n", "\"1\""), ("n", "1.5"), ("s", "1"), ("l", "[1,\"b\"]"), ("l", "3"), ("e", "\"b\""), ("o", "0")]
    {
        for built in [function(&format!("{name}: {value}")), args(&format!("\"{name}\": {value}"))] {
            let said = built.expect_err(value).to_string();
            assert!(said.starts_with(&format!("`{name}` takes ")), "{said}");
        }
        let pairs = [format!("{name}:={value}")];
        let built = build(&Typed { function: &[], pairs: &pairs, args: None }, &schema, &read);
        assert_eq!(built, Ok(format!("{{\"{name}\":{value}}}")));
    }
    for (name, value) in [
        ("n", "1"),
        ("n", "1.0"),
        ("n", "20000000000000000000"),
        ("s", "\"x\""),
        ("l", "[1,2.5]"),
        ("l", "[]"),
        ("e", "1"),
        ("e", "\"a\""),
        ("o", "null"),
        ("x", "[1]"),
    ] {
        assert!(function(&format!("{name}: {value}")).is_ok(), "{name} {value}");
        assert!(args(&format!("\"{name}\": {value}")).is_ok(), "{name} {value}");
    }
}
