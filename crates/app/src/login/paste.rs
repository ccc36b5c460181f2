//! What a user pastes whose browser cannot come back to this machine: the address it ended at, or its query.

/// What was pasted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pasted<'l> {
    Query(&'l str),
    /// Another address than the one that is waited for.
    Elsewhere,
    /// A code alone: nobody can tell which login it belongs to.
    Bare,
    Nothing,
}

/// Reads a line for a login whose browser comes back to `redirect_uri`.
pub(crate) fn pasted<'l>(line: &'l str, redirect_uri: &str) -> Pasted<'l> {
    let line = line.trim().trim_matches(['"', '\'', '<', '>']);
    if line.is_empty() {
        return Pasted::Nothing;
    }
    if line.starts_with("http://") || line.starts_with("https://") {
        return match line.split_once('?') {
            Some((address, query)) if address == redirect_uri => Pasted::Query(without_fragment(query)),
            _ => Pasted::Elsewhere,
        };
    }
    let query = line.strip_prefix('?').unwrap_or(line);
    let has =
        |name: &str| query.split('&').any(|pair| pair.split_once('=').is_some_and(|(at, _)| at == name));
    if has("state") { Pasted::Query(without_fragment(query)) } else { Pasted::Bare }
}

fn without_fragment(query: &str) -> &str {
    query.split_once('#').map_or(query, |(query, _)| query)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "http://127.0.0.1:4321/callback";

    #[test]
    fn a_whole_address_or_its_query_is_taken_and_a_bare_code_is_not() {
        let check = |line: &str, expected: Pasted<'_>| assert_eq!(pasted(line, HOME), expected, "{line}");
        check(" http://127.0.0.1:4321/callback?code=a&state=b \n", Pasted::Query("code=a&state=b"));
        check("'http://127.0.0.1:4321/callback?code=a&state=b#x'", Pasted::Query("code=a&state=b"));
        check("?code=a&state=b", Pasted::Query("code=a&state=b"));
        check("code=a&state=b", Pasted::Query("code=a&state=b"));
        check("error=access_denied&state=b", Pasted::Query("error=access_denied&state=b"));
        check("SplxlOBeZQQYbYS6WxSbIA", Pasted::Bare);
        check("code=a", Pasted::Bare);
        check("http://127.0.0.1:4321/other?code=a&state=b", Pasted::Elsewhere);
        check("http://127.0.0.1:4322/callback?code=a&state=b", Pasted::Elsewhere);
        check("https://127.0.0.1:4321/callback?code=a&state=b", Pasted::Elsewhere);
        check("http://127.0.0.1:4321/callback", Pasted::Elsewhere);
        check("\n", Pasted::Nothing);
    }
}
