use super::*;

fn check(reach: Reach, url: &str, resolved: &str) -> bool {
    let url = Url::parse(url).unwrap();
    reach.permits_url(&url).is_ok() && reach.permits_address(&url, resolved.parse().unwrap()).is_ok()
}

#[test]
fn addresses_that_are_not_public() {
    for ip in [
        "127.0.0.1",
        "127.8.8.8",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.127.255.255",
        "100.100.100.200",
        "0.0.0.0",
        "0.1.2.3",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "198.18.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "2002:a00:1::",
        "2001:db8::1",
        "2001::1",
        "fec0::1",
    ] {
        assert!(is_forbidden(ip.parse().unwrap()), "{ip}");
    }
    for ip in
        ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::"]
    {
        assert!(!is_forbidden(ip.parse().unwrap()), "{ip}");
    }
}

#[test]
fn a_public_server_has_a_public_authorization_server() {
    let reach = Reach::default();
    assert!(check(reach, "https://as.example/x", "1.1.1.1"));
    assert!(!check(reach, "https://as.example/x", "127.0.0.1"), "a resolver that leads home");
    assert!(!check(reach, "http://as.example/x", "1.1.1.1"));
    assert!(!check(reach, "http://127.0.0.1/x", "127.0.0.1"));
    assert!(!check(reach, "https://localhost/x", "127.0.0.1"));
    assert!(!check(reach, "https://metadata.google.internal/x", "1.1.1.1"));
}

#[test]
fn a_server_on_this_machine_may_have_one_beside_it() {
    let reach = Reach::of_server(&Url::parse("http://localhost:1/mcp").unwrap(), false);
    assert!(check(reach, "http://127.0.0.1:2/x", "127.0.0.1"));
    assert!(check(reach, "http://localhost:2/x", "::1"));
    assert!(check(reach, "https://as.example/x", "1.1.1.1"));
    assert!(!check(reach, "http://localhost:2/x", "10.0.0.1"), "plain http stays on the machine");
    assert!(!check(reach, "http://as.example/x", "127.0.0.1"));
    assert!(!check(reach, "https://as.example/x", "10.0.0.1"));
}

#[test]
fn a_company_may_keep_its_own_but_never_the_clouds_keys() {
    let reach = Reach::of_server(&Url::parse("https://mcp.corp/").unwrap(), true);
    assert!(check(reach, "https://as.corp/x", "10.1.2.3"));
    assert!(check(reach, "https://10.1.2.3/x", "10.1.2.3"));
    assert!(!check(reach, "http://as.corp/x", "10.1.2.3"));
    assert!(!check(reach, "https://as.corp/x", "169.254.169.254"));
    assert!(!check(reach, "https://as.corp/x", "fd00:ec2::254"));
    assert!(!check(reach, "https://as.corp/x", "100.100.100.200"));
}
