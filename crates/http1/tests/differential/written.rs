//! Messages as they are met, and as they are made to be read in two ways.

/// Returns requests, each with its body.
pub(crate) fn requests() -> Vec<Vec<u8>> {
    let mut all: Vec<String> = [
        "GET / HTTP/1.1\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "HEAD /a?b=c HTTP/1.1\r\nHost: localhost:3095\r\nAccept: */*\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: x\r\nOrigin: http://localhost\r\n\r\n",
        "DELETE http://x:1/y HTTP/1.1\r\nHost: x:1\r\nMcp-Session-Id: 4f\r\n\r\n",
        "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "FOO / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "PUT / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello",
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nConnection: x, Close\r\nConnection: keep-alive\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\r\na: c\r\nA:\r\nB:\td \r\nC: \u{e9}\r\n\r\n",
        "GET / HTTP/1.1\nHost: x\n\n",
        "GET / HTTP/1.1\r\nHost: x\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\rY: z\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: \0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n",
        "GET /a b HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.2\r\n\r\n",
        "GET / HTTP/2.0\r\n\r\n",
        "GET /\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
    ]
    .map(str::to_owned)
    .into();
    let post = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n";
    for lengths in LENGTHS {
        all.push(format!("{post}{lengths}\r\n\r\nhello"));
    }
    for body in CHUNKS {
        all.push(format!("{post}Transfer-Encoding: chunked\r\n\r\n{body}"));
    }
    for codings in CODINGS {
        all.push(format!("{post}{codings}\r\n\r\n5\r\nhello\r\n0\r\n\r\n"));
    }
    all.into_iter().map(String::into_bytes).collect()
}

/// Returns answers, each with its body.
pub(crate) fn answers() -> Vec<Vec<u8>> {
    let mut all: Vec<String> = [
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 202 \r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 202\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nto the end",
        "HTTP/1.0 200 OK\r\n\r\nto the end",
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1",
        "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 102 X\r\n\r\nHTTP/1.1 404 X\r\nContent-Length: 1\r\n\r\n1",
        "HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 2x0 X\r\n\r\n",
        "HTTP/1.2 200 OK\r\n\r\n",
        "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\nhello",
        "HTTP/1.1 200 O\rK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 \u{e9}\r\nX: \u{e9}\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nX: \0\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
    ]
    .map(str::to_owned)
    .into();
    for lengths in LENGTHS {
        all.push(format!("HTTP/1.1 200 OK\r\nA: b\r\n{lengths}\r\n\r\nhello"));
    }
    for body in CHUNKS {
        all.push(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}"));
    }
    for codings in CODINGS {
        all.push(format!("HTTP/1.1 200 OK\r\n{codings}\r\n\r\n5\r\nhello\r\n0\r\n\r\n"));
    }
    all.into_iter().map(String::into_bytes).collect()
}

/// For a body of five bytes.
const LENGTHS: [&str; 12] = [
    "Content-Length: 5",
    "content-LENGTH:5 ",
    "Content-Length: 05",
    "Content-Length: 5\r\nContent-Length: 5",
    "Content-Length: 5\r\nContent-Length: 05",
    "Content-Length: 5\r\nContent-Length: 6",
    "Content-Length: 5, 5",
    "Content-Length: +5",
    "Content-Length: 5 5",
    "Content-Length: 0x5",
    "Content-Length: ",
    "Content-Length: 18446744073709551615",
];

const CODINGS: [&str; 9] = [
    "Transfer-Encoding: Chunked",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: chunked, gzip",
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: \x0bchunked",
    "Transfer-Encoding: chunked\r\nContent-Length: 5",
    "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding : chunked",
];

const CHUNKS: [&str; 26] = [
    "0\r\n\r\n",
    "5\r\nhello\r\n0\r\n\r\n",
    "05\r\nhello\r\n00A \r\n, and again\r\n000\r\n\r\n",
    "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
    "5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n",
    "5 \t;a\r\nhello\r\n0\r\n\r\n",
    "5 x\r\nhello\r\n0\r\n\r\n",
    "2;\nxx\r\n4c\r\n0\r\n\r\n",
    "5;a\rb\r\nhello\r\n0\r\n\r\n",
    "5;\0\r\nhello\r\n0\r\n\r\n",
    "5\nhello\r\n0\r\n\r\n",
    "5\r\nhello\n0\r\n\r\n",
    "5\r\nhello0\r\n\r\n",
    "5\r\nhell\r\n0\r\n\r\n",
    "\r\n5\r\nhello\r\n0\r\n\r\n",
    " 5\r\nhello\r\n0\r\n\r\n",
    "-5\r\nhello\r\n0\r\n\r\n",
    "0x5\r\nhello\r\n0\r\n\r\n",
    "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
    "5\r\nhello\r\n0\r\nA: b\r\nC:\r\n\r\n",
    "5\r\nhello\r\n0\r\nA: b\n\r\n",
    "5\r\nhello\r\n0\r\nA: b\rc\r\n\r\n",
    "5\r\nhello\r\n0\r\nA: \0\r\n\r\n",
    "5\r\nhello\r\n0\r\nA\r\n\r\n",
    "5\r\nhello\r\n0\r\n A: b\r\n\r\n",
    "5\r\nhello\r\n0\r\n\n",
];
