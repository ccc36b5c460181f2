# Builds for targets the pinned compiler has no standard library for: Debian's newer compiler brings the library's
# source, from which one is built for each target, once. To be sourced after tools.sh.

musl=x86_64-unknown-linux-musl
aarch64=aarch64-unknown-linux-gnu
sysroot=$tools/sysroot
cross_bin=$tools/cross

# program NAME: writes standard input down as a program of ours.
program() {
    mkdir -p "$cross_bin"
    cat >"$cross_bin/$1"
    chmod +x "$cross_bin/$1"
}

# The compiler with our sysroot. Cargo gives its own paths for libraries to what it runs; ours come first.
write_rustc() {
    program rustc <<END
#!/bin/sh
export LD_LIBRARY_PATH=$debian/usr/lib/x86_64-linux-gnu\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
exec $debian/usr/bin/rustc --sysroot $sysroot "\$@"
END
    program cargo <<END
#!/bin/sh
export LD_LIBRARY_PATH=$debian/usr/lib/x86_64-linux-gnu\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
unset RUSTUP_TOOLCHAIN
exec $debian/usr/bin/cargo "\$@"
END
}

# zig brings musl and a compiler for C; it names targets its own way and refuses what rustc's and cc's name.
write_musl_cc() {
    program musl-cc <<END
#!/usr/bin/env bash
kept=()
for argument; do
    case \$argument in
        --target=* | -m64) ;;
        *) kept+=("\$argument") ;;
    esac
done
exec $tools/venv/bin/python3 -m ziglang cc -target x86_64-linux-musl "\${kept[@]}"
END
    program musl-ar <<END
#!/bin/sh
exec $tools/venv/bin/python3 -m ziglang ar "\$@"
END
}

# Debian's cross compiler finds its parts beside itself wherever it lies, but for the C library's, which are named by
# their full paths in a script for the linker.
write_aarch64_cc() {
    sed -i "s# /usr/aarch64-linux-gnu/lib/# $debian/usr/aarch64-linux-gnu/lib/#g" "$debian"/usr/aarch64-linux-gnu/lib/libc.so
    program aarch64-cc <<END
#!/bin/sh
export LD_LIBRARY_PATH=$debian/usr/lib/x86_64-linux-gnu
exec $debian/usr/bin/aarch64-linux-gnu-gcc-12 -B$debian/usr/aarch64-linux-gnu/lib -L$debian/usr/aarch64-linux-gnu/lib \\
    -isystem $debian/usr/aarch64-linux-gnu/include "\$@"
END
    program aarch64-ar <<END
#!/bin/sh
export LD_LIBRARY_PATH=$debian/usr/lib/x86_64-linux-gnu
exec $debian/usr/bin/aarch64-linux-gnu-ar "\$@"
END
}

# prepare TARGET: the compilers and linkers for it.
prepare() {
    apt_tools rust "${rust_packages[@]}"
    mkdir -p "$sysroot/lib/rustlib"
    ln -sfn "$debian/usr/lib/rustlib/x86_64-unknown-linux-gnu" "$sysroot/lib/rustlib/x86_64-unknown-linux-gnu"
    mkdir -p "$sysroot/lib/rustlib/src"
    ln -sfn "$debian/usr/src/rustc-$rust_series" "$sysroot/lib/rustlib/src/rust"
    write_rustc
    case $1 in
        "$musl")
            pip_tool ziglang "$ziglang"
            write_musl_cc
            ;;
        "$aarch64")
            apt_tools aarch64 "${aarch64_packages[@]}"
            write_aarch64_cc
            ;;
    esac
}

# with_target TARGET COMMAND...: what cargo, the crate cc and guard/build.rs look for in the environment.
with_target() (
    export RUSTC=$cross_bin/rustc
    local upper=${1^^} lower=${1//-/_}
    upper=${upper//-/_}
    local cc=$cross_bin/aarch64-cc ar=$cross_bin/aarch64-ar flags=""
    if [[ $1 == "$musl" ]]; then
        cc=$cross_bin/musl-cc ar=$cross_bin/musl-ar flags="-Ctarget-feature=+crt-static -Clink-self-contained=no"
        # The small guard is linked without any library, with options that zig does not know.
        export MANIFOLD_GUARD_LINKER=cc
    fi
    # Names of functions are for whoever debugs; they are two thirds of the program.
    export CARGO_PROFILE_RELEASE_STRIP=symbols
    export "CC_$lower=$cc" "AR_$lower=$ar" "CARGO_TARGET_${upper}_LINKER=$cc" "CARGO_TARGET_${upper}_RUSTFLAGS=$flags"
    "${@:2}"
)

# Builds the standard library for a target into the sysroot, unless it is there. Its bitcode stays in: the small guard
# is optimised together with `core`.
standard_library() {
    local place=$sysroot/lib/rustlib/$1 empty=$tools/std/$1
    if [[ -f $place/stamp && $(<"$place/stamp") == "$rust_series" ]]; then return; fi
    rm -rf "$place" "$empty"
    mkdir -p "$place/lib" "$empty/src"
    printf '[package]\nname = "empty"\nedition = "2024"\n[workspace]\n[profile.release]\ndebug = 0\n' >"$empty/Cargo.toml"
    touch "$empty/src/lib.rs"
    (
        cd "$empty"
        export RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$empty/target
        with_target "$1" build_std "$1"
    )
    cp "$empty/target/$1/release/deps/"*.rlib "$place/lib/"
    rm -f "$place"/lib/libempty-*
    rm -rf "$empty"
    echo "$rust_series" >"$place/stamp"
}

build_std() {
    local upper=${1^^}
    local flags=CARGO_TARGET_${upper//-/_}_RUSTFLAGS
    export "$flags=${!flags} -Cembed-bitcode=yes"
    "$cross_bin/cargo" build --quiet --release --target "$1" -Z build-std=std,panic_unwind
}

# cross_build TARGET FOLDER: builds the gateway for a target, with the list of its dependencies inside (cargo-auditable).
# Prints nothing but what cargo says; the binary is FOLDER/TARGET/release/manifold.
cross_build() {
    prepare "$1"
    standard_library "$1"
    cargo_tool cargo-auditable "$cargo_auditable"
    CARGO_TARGET_DIR=$2 with_target "$1" env CARGO="$cross_bin/cargo" "$tools/bin/cargo-auditable" auditable build \
        --locked --release --target "$1" -p manifold
}
