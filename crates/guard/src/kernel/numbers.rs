//! What the kernel calls its calls.

macro_rules! numbers {
    ($($name:ident $x86_64:literal $others:literal)*) => {
        $(
            #[cfg(target_arch = "x86_64")]
            pub(super) const $name: usize = $x86_64;
            // Architectures that came later share one list.
            #[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
            pub(super) const $name: usize = $others;
        )*
    };
}

numbers! {
    CHDIR 80 49
    CLONE 56 220
    CLONE3 435 435
    CLOSE 3 57
    CLOSE_RANGE 436 436
    DUP3 292 24
    EXECVE 59 221
    EXIT_GROUP 231 94
    FACCESSAT 269 48
    GETDENTS64 217 61
    GETPID 39 172
    GETPPID 110 173
    KILL 62 129
    MMAP 9 222
    MUNMAP 11 215
    OPENAT 257 56
    PIPE2 293 59
    PPOLL 271 73
    PRCTL 157 167
    READ 0 63
    RECVMSG 47 212
    RT_SIGACTION 13 134
    RT_SIGPROCMASK 14 135
    SENDTO 44 206
    SETPGID 109 154
    SETSID 112 157
    SIGNALFD4 289 74
    WAIT4 61 260
    WRITE 1 64
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
compile_error!("the guard knows the system calls of x86_64, aarch64 and riscv64 only");
