//! Which lines of a log say why a program ended. The last ones seldom do: npm closes with advice, Node with a stack.

/// How many lines an error message shows.
const SHOWN: usize = 3;
/// Words by which a line tells of a failure; the more of them, the more it tells.
const SIGNS: [&str; 21] = [
    "error",
    "fatal",
    "panic",
    "exception",
    "failed",
    "not found",
    "not in this registry",
    "no such",
    "no module",
    "no solution",
    "cannot find",
    "could not",
    "unable to",
    "enoent",
    "eacces",
    "denied",
    "refused",
    "does not exist",
    "missing",
    "invalid",
    "required",
];

/// Numbers that tell more, where such a word stands beside them.
const NUMBERS: [&str; 3] = ["401", "403", "404"];

/// Returns the lines that tell most, in their order: those with most signs, the first of them first, then the last ones.
pub(super) fn telling(lines: &[String]) -> Vec<&str> {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    let signs: Vec<usize> = lines.iter().map(|line| count(line)).collect();
    let most = signs.iter().copied().max().unwrap_or(0);
    let best = (0..lines.len()).filter(|at| most > 0 && signs[*at] == most).take(SHOWN);
    let mut chosen: Vec<usize> = best.collect();
    for last in (0..lines.len()).rev() {
        if chosen.len() < SHOWN && !chosen.contains(&last) {
            chosen.push(last);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|at| lines[at]).collect()
}

fn count(line: &str) -> usize {
    let line = line.to_lowercase();
    let words = SIGNS.iter().filter(|sign| line.contains(*sign)).count();
    let mut numbers = line.split(|char: char| !char.is_ascii_digit());
    words + usize::from(words > 0 && numbers.any(|number| NUMBERS.contains(&number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(log: &str, expected: &[&str]) {
        let lines: Vec<String> = log.lines().map(str::to_owned).collect();
        assert_eq!(telling(&lines), expected);
    }

    // D7: the line with the name, not npm's closing words.
    #[test]
    fn a_package_that_is_not_there_is_named() {
        check(
            "npm error code E404\n\
             npm error 404 Not Found - GET https://registry.example/@a%2fserver-gti - Not found\n\
             npm error 404\n\
             npm error 404  '@a/server-gti@*' is not in this registry.\n\
             npm error 404\n\
             npm error 404 Note that you can also install from a\n\
             npm error 404 tarball, folder, http url, or git folder.\n\
             npm error A complete log of this run can be found in: /home/ann/.npm/_logs/x.log",
            &[
                "npm error 404 Not Found - GET https://registry.example/@a%2fserver-gti - Not found",
                "npm error 404  '@a/server-gti@*' is not in this registry.",
                "npm error A complete log of this run can be found in: /home/ann/.npm/_logs/x.log",
            ],
        );
    }

    #[test]
    fn the_error_comes_before_the_stack() {
        check(
            "listening\nnode:internal/modules:1146\n  throw err;\n\nError: Cannot find module '/x/index.js'\n    at a (b.js:1)\n    at c (d.js:2)\n\nNode.js v22",
            &["Error: Cannot find module '/x/index.js'", "at c (d.js:2)", "Node.js v22"],
        );
    }

    #[test]
    fn without_a_sign_the_last_lines_count() {
        check("one\ntwo\n\nthree\nfour", &["two", "three", "four"]);
        check("GET /a 404\nline 1404\ntwo\nthree\nfour", &["two", "three", "four"]);
        check("only", &["only"]);
        check("", &[]);
    }
}
