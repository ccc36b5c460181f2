//! Descriptors that stay open while another program takes our place.
#![expect(unsafe_code, reason = "a descriptor that came with us is known by its number alone")]

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::str::FromStr;

use nix::fcntl::{FcntlArg, FdFlag, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// What a program gets from the one whose place it takes, by number. This form is for ever: it is read before anything is
/// known of the state itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InheritedFds {
    pub(crate) state: RawFd,
    pub(crate) lock: RawFd,
    pub(crate) clients: RawFd,
    pub(crate) orders: RawFd,
    pub(crate) http: Option<RawFd>,
}

/// The same, as descriptors that are ours.
pub(crate) struct Inherited {
    pub(crate) lock: OwnedFd,
    pub(crate) clients: OwnedFd,
    pub(crate) orders: OwnedFd,
    pub(crate) http: Option<OwnedFd>,
    /// What the last program wrote down.
    pub(crate) state: String,
}

impl InheritedFds {
    /// Returns them as an argument.
    pub(crate) fn to_argument(self) -> String {
        let numbers = [Some(self.state), Some(self.lock), Some(self.clients), Some(self.orders), self.http];
        numbers.into_iter().flatten().map(|number| number.to_string()).collect::<Vec<_>>().join(",")
    }

    /// Takes the descriptors over. They close when yet another program is run.
    pub(crate) fn take(self) -> io::Result<Inherited> {
        let mut state = File::from(own(self.state)?);
        let mut text = String::new();
        state.rewind()?;
        state.read_to_string(&mut text)?;
        Ok(Inherited {
            lock: own(self.lock)?,
            clients: own(self.clients)?,
            orders: own(self.orders)?,
            http: self.http.map(own).transpose()?,
            state: text,
        })
    }
}

impl FromStr for InheritedFds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<RawFd>, _> = text.split(',').map(str::parse).collect();
        match numbers.as_deref() {
            Ok([state, lock, clients, orders, rest @ ..]) => Ok(Self {
                state: *state,
                lock: *lock,
                clients: *clients,
                orders: *orders,
                http: rest.first().copied(),
            }),
            _ => Err("four numbers or five are expected".to_owned()),
        }
    }
}

fn own(number: RawFd) -> io::Result<OwnedFd> {
    if number < 3 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the program before us has left it open for us, and nobody else here knows of it.
    let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
    fcntl(&descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(descriptor)
}

/// Closes what was left to us and nobody has taken over: all that would stay open for yet another program.
pub(crate) fn close_the_rest() {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<RawFd> =
        open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // SAFETY: it is only asked about; one that is not open is no harm.
        let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
        let flags = fcntl(borrowed, FcntlArg::F_GETFD).map(FdFlag::from_bits_truncate);
        if flags.is_ok_and(|flags| !flags.contains(FdFlag::FD_CLOEXEC)) {
            // SAFETY: everything of ours closes when another program is run, so nobody here has it.
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
    }
}

/// Lets a descriptor stay open for the program that takes our place. Returns its number.
pub(crate) fn leave_open(descriptor: &impl AsFd) -> io::Result<RawFd> {
    fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(descriptor.as_fd().as_raw_fd())
}

/// Writes a state down where only whoever has the descriptor can read it, and nobody can change it.
pub(crate) fn sealed(state: &str) -> io::Result<OwnedFd> {
    let memory = memfd_create(c"manifold-state", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
    let mut file = File::from(memory);
    file.write_all(state.as_bytes())?;
    let fixed =
        SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(fixed))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back() {
        let numbers = InheritedFds { state: 9, lock: 4, clients: 5, orders: 6, http: None };
        assert_eq!(numbers.to_argument(), "9,4,5,6");
        for numbers in [numbers, InheritedFds { http: Some(7), ..numbers }] {
            assert_eq!(numbers.to_argument().parse(), Ok(numbers));
        }
        assert!("1,2".parse::<InheritedFds>().is_err() && "a,b,c,d".parse::<InheritedFds>().is_err());
    }

    #[test]
    fn a_state_is_read_back_and_cannot_be_changed() {
        let state = sealed("{}").unwrap();
        let mut file = File::from(state);
        assert!(file.write_all(b"x").is_err());
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "{}");
    }
}
