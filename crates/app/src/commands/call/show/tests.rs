use std::fs;

use super::*;

#[track_caller]
fn check(answer: Answer, result: &str, wanted: &Wanted, expected: &str) {
    assert_eq!(show(result, answer, "fx__t", wanted).unwrap().text, expected);
}

fn to(to_terminal: bool, form: Form) -> Wanted {
    Wanted { form, out: None, to_terminal }
}

#[test]
fn text_is_printed_as_it_is() {
    let pipe = to(false, Form::Text);
    check(Answer::Call, r#"{"content":[]}"#, &pipe, "");
    check(Answer::Call, r#"{"content":[{"type":"text","text":"a\u001b[1mb"}]}"#, &pipe, "a\u{1b}[1mb\n");
    check(
        Answer::Call,
        r#"{"content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"}]}"#,
        &pipe,
        "a\nb\n",
    );
    // Text stands for what is structured; without it, that is shown.
    check(
        Answer::Call,
        r#"{"content":[{"type":"text","text":"t"}],"structuredContent":{"n":1.0}}"#,
        &pipe,
        "t\n",
    );
    check(Answer::Call, r#"{"content":[],"structuredContent":{"n":1.0}}"#, &pipe, "{\"n\":1.0}\n");
    check(
        Answer::Call,
        r#"{"content":[{"type":"resource_link","uri":"x:y","new":1.0}]}"#,
        &pipe,
        "{\"type\":\"resource_link\",\"uri\":\"x:y\",\"new\":1.0}\n",
    );
    check(
        Answer::Call,
        r#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}"#,
        &pipe,
        "{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}\n",
    );
}

#[test]
fn a_terminal_obeys_nothing() {
    let terminal = to(true, Form::Text);
    check(
        Answer::Call,
        r#"{"content":[{"type":"text","text":"a\u001b]0;x\u0007\r\n\tb"}]}"#,
        &terminal,
        "a\\u{1b}]0;x\\u{7}\n\tb\n",
    );
    check(
        Answer::Call,
        "{\"content\":[{\"type\":\"x\",\"y\":\"\u{9b}2J\u{202e}\"}]}",
        &terminal,
        "{\"type\":\"x\",\"y\":\"\\u009b2J\\u202e\"}\n",
    );
    for form in [Form::Json, Form::Raw] {
        let shown =
            show("{\"content\":[],\"x\":\"\u{9b}\u{7f}\"}", Answer::Call, "t", &to(true, form)).unwrap().text;
        assert_eq!(shown.trim_end(), r#"{"content":[],"x":"\u009b\u007f"}"#);
    }
    check(
        Answer::Call,
        r#"{"content":[{"type":"image","data":"AAAAAAAA","mimeType":"image/png"}]}"#,
        &terminal,
        "[image/png, about 6 bytes; --out DIR keeps it]\n",
    );
}

#[test]
fn the_result_itself_keeps_its_bytes() {
    let result = "{ \"content\":[ ],\"isError\": true, \"n\":12345678901234567890.10 }";
    let shown = |form| show(result, Answer::Call, "t", &to(false, form)).unwrap();
    assert_eq!(
        shown(Form::Json),
        Shown { text: format!("{result}\n"), exit: Exit::ToolError, failure: None }
    );
    assert_eq!(shown(Form::Raw), Shown { text: result.to_owned(), exit: Exit::ToolError, failure: None });
}

#[test]
fn a_tool_that_failed_says_so_by_the_exit_code() {
    let text = r#"{"content":[{"type":"text","text":"no such file"}],"isError":true}"#;
    let shown = show(text, Answer::Call, "t", &to(false, Form::Text)).unwrap();
    assert_eq!(shown, Shown { text: "no such file\n".to_owned(), exit: Exit::ToolError, failure: None });
    let shown = show(r#"{"isError":true,"contents":[]}"#, Answer::Read, "t", &to(false, Form::Text)).unwrap();
    assert_eq!(shown.exit, Exit::Ok);
}

#[test]
fn resources_prompts_and_completions_are_printed_by_the_same_rules() {
    let (pipe, terminal) = (to(false, Form::Text), to(true, Form::Text));
    check(
        Answer::Read,
        r#"{"contents":[{"uri":"a:b","text":"x"},{"uri":"c:d","blob":"AAAA"}]}"#,
        &pipe,
        "x\n{\"uri\":\"c:d\",\"blob\":\"AAAA\"}\n",
    );
    let prompt = r#"{"messages":[{"role":"user","content":{"type":"text","text":"q"}},{"role":"assistant","content":{"type":"text","text":"a"}}]}"#;
    check(Answer::Prompt, prompt, &pipe, "q\na\n");
    check(Answer::Prompt, prompt, &terminal, "[user]\nq\n[assistant]\na\n");
    check(Answer::Complete, r#"{"completion":{"values":["a","b c"],"hasMore":true}}"#, &pipe, "a\nb c\n");
    let ugly = r#"{"completion":{"values":["a\u001b[2Jb","two\nlines"]}}"#;
    check(Answer::Complete, ugly, &pipe, "a\\u{1b}[2Jb\ntwo\\u{a}lines\n");
}

#[test]
fn files_go_into_the_folder_and_over_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/out");
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("fx__t.png"), "mine").unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), out.join("a.txt")).unwrap();
    let wanted = Wanted { out: Some(out.clone()), ..Wanted::default() };
    let result = r#"{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"},
        {"type":"audio","data":"aGk=","mimeType":"audio/wav"},
        {"type":"resource","resource":{"uri":"file:///x/../a.txt","blob":"aGk=","mimeType":"text/plain"}}]}"#;
    let shown = show(result, Answer::Call, "fx__t", &wanted).unwrap().text;
    let names: Vec<&str> = shown.lines().map(|line| line.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["fx__t-1.png", "fx__t.wav", "a-1.txt"]);
    assert_eq!(fs::read_to_string(out.join("fx__t.png")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(out.join("a-1.txt")).unwrap(), "hi");
    assert!(!folder.path().join("elsewhere").exists());
    let wrong = r#"{"content":[{"type":"image","data":"%%%","mimeType":"image/png"},{"type":"text","text":"a"},
        {"type":"image","data":"aGk=","mimeType":"image/gif"}]}"#;
    let shown = show(wrong, Answer::Call, "t", &wanted).unwrap();
    assert_eq!(shown.failure.unwrap().exit, Exit::Failed);
    assert!(
        shown.text.starts_with("a\n") && shown.text.ends_with("/t.gif\n"),
        "the others are there: {}",
        shown.text
    );
}
