//! Whose program is at the other end of a connection within this machine. A port is open to all its users; the page is one
//! user's, whose code and token stand where others may get to see them: in a browser's command line, or at a port that was
//! another's for a while.

use std::net::SocketAddr;

/// Returns whether a connection from here to our port is another user's than ours or root's, as far as the kernel tells.
pub(super) fn is_anothers(peer: SocketAddr, port: u16) -> bool {
    let Ok(table) = std::fs::read_to_string("/proc/net/tcp") else { return false };
    let ours = own_user();
    user_of(&table, peer, port).is_some_and(|uid| uid != 0 && Some(uid) != ours)
}

/// Finds the socket that is bound to the peer's address and connected to our port.
fn user_of(table: &str, peer: SocketAddr, port: u16) -> Option<u32> {
    let SocketAddr::V4(peer) = peer else { return None };
    // The address is written as the number that memory holds.
    let local = format!("{:08X}:{:04X}", u32::from_ne_bytes(peer.ip().octets()), peer.port());
    let remote = format!(":{port:04X}");
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_it = fields.next()? == local && fields.next()?.ends_with(&remote);
        // State, queues, timer, retransmissions, and then the user.
        is_it.then(|| fields.nth(4)?.parse().ok())?
    })
}

/// Returns our own user.
fn own_user() -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").ok().map(|found| found.uid())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_kernel_tells_whose_a_connection_is() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (_held, peer) = listener.accept().unwrap();
        assert_eq!(peer, client.local_addr().unwrap());
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        assert_eq!(user_of(&table, peer, port), own_user());
        assert!(!is_anothers(peer, port));
    }

    #[test]
    fn another_user_is_told_from_a_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 1 1\n\
            \x20  1: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1\n";
        let peer = "127.0.0.1:49153".parse().unwrap();
        assert_eq!(user_of(table, peer, 0x1f90), Some(1001));
        assert_eq!(user_of(table, peer, 0x1f91), None);
    }
}
