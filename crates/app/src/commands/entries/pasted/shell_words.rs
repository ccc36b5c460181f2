//! Cuts a line as a shell would: quotes and backslashes, and variables in our way of writing them.

use crate::output::Failure;

/// What a shell would do something with that a server's entry cannot.
const OPERATORS: [char; 7] = ['|', '&', ';', '<', '>', '`', '('];

/// Returns the words of a line.
pub(super) fn split(line: &str) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => match rest.next() {
                // The line goes on.
                Some('\n') => {}
                Some('\r') if rest.peek() == Some(&'\n') => drop(rest.next()),
                Some(c) if quote.is_some() && !['"', '\\', '$', '`'].contains(&c) => {
                    word.get_or_insert_default().extend(['\\', c]);
                }
                Some(c) => word.get_or_insert_default().push(c),
                None => word.get_or_insert_default().push('\\'),
            },
            (_, '$') => {
                let name: String = std::iter::from_fn(|| rest.next_if(|c| is_of_name(*c))).collect();
                let word = word.get_or_insert_default();
                match name.as_str() {
                    "" => word.push('$'),
                    name => word.extend(["${", name, "}"]),
                }
            }
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) if OPERATORS.contains(&c) => return Err(of_shell(c)),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(Failure::usage(format!("a quote ({open}) is not closed in what was pasted")));
    }
    words.extend(word);
    Ok(words)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn of_shell(operator: char) -> Failure {
    Failure::usage(format!("`{operator}` means something to a shell only, and none starts a server"))
        .hint("quote it, or have a shell start it: `manifold add NAME -- sh -c '…'`")
}
