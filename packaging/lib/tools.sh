# What the scripts need beside the compiler: named, pinned, and unpacked below target/tools. Nothing is installed on the
# machine, nothing needs root. To be sourced, with `root` set.

cargo_deb=3.8.0
cargo_cyclonedx=0.5.9
cargo_auditable=0.7.7
mcpb=2.1.2
ziglang=0.17.0
# Debian 12 replaces packages by mended ones of the same series, so a series is what can be named.
rust_series=1.96.0
rust_packages=("rustc-web=$rust_series*" "cargo-web=$rust_series*" "rust-web-src=$rust_series*")
aarch64_packages=('gcc-aarch64-linux-gnu=4:12.2*' 'libc6-dev-arm64-cross=2.36*')
vm_packages=('qemu-system-arm=1:7.2*' 'linux-image-arm64:arm64=6.1.*' 'busybox-static:arm64=1:1.35*')

tools=$root/target/tools
debian=$tools/debian

# cargo_tool NAME VERSION: a subcommand of cargo.
cargo_tool() {
    if [[ -f $tools/bin/$1.version && $(<"$tools/bin/$1.version") == "$2" ]]; then return; fi
    cargo install --quiet --locked --force --root "$tools" "$1@$2"
    echo "$2" >"$tools/bin/$1.version"
}

# npm_tool PACKAGE VERSION: its programs are then in $tools/npm/node_modules/.bin.
npm_tool() {
    if [[ -f $tools/npm/$1.version && $(<"$tools/npm/$1.version") == "$2" ]]; then return; fi
    npm install --silent --prefix "$tools/npm" --no-save --no-package-lock --no-fund --no-audit "$1@$2"
    mkdir -p "$(dirname "$tools/npm/$1")"
    echo "$2" >"$tools/npm/$1.version"
}

# pip_tool PACKAGE VERSION: importable by $tools/venv/bin/python3.
pip_tool() {
    if [[ -f $tools/venv/$1.version && $(<"$tools/venv/$1.version") == "$2" ]]; then return; fi
    [[ -x $tools/venv/bin/pip ]] || python3 -m venv "$tools/venv"
    "$tools/venv/bin/pip" install --quiet --disable-pip-version-check "$1==$2"
    echo "$2" >"$tools/venv/$1.version"
}

# apt COMMAND...: apt with lists and packages of its own, so that the machine's stay as they are.
apt() {
    local command=$1
    shift
    "apt-$command" -qq -o Dir::State::Lists="$tools/apt/lists" -o Dir::Cache="$tools/apt/cache" -o Debug::NoLocking=1 \
        -o APT::Architectures=amd64,arm64 -o APT::Sandbox::User="$(id -un)" "$@"
}

# apt_tools NAME PACKAGE...: unpacks the packages, and all they need that the machine has not, into $debian. What is of
# arm64 goes to $debian-arm64, alone: it is not run here.
apt_tools() {
    local stamp=$tools/apt/$1.stamp wanted="${*:2}"
    if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then return; fi
    if ! command -v apt-get >/dev/null; then
        echo "this needs apt-get, to unpack ${wanted//=/ } from Debian 12" >&2
        return 1
    fi
    mkdir -p "$tools"/apt/{lists,cache/archives}/partial "$debian" "$debian-arm64"
    if [[ -z $(find "$tools/apt/updated" -newermt '-1 day' 2>/dev/null) ]]; then
        apt get update
        touch "$tools/apt/updated"
    fi
    local here=() there=() package
    for package in "${@:2}"; do
        if [[ $package == *:arm64=* ]]; then there+=("$package"); else here+=("$package"); fi
    done
    rm -rf "$tools/apt/new"
    mkdir -p "$tools/apt/new" "$tools/apt/new-arm64"
    (
        cd "$tools/apt/new"
        # What would be installed is what is missing; each is fetched at that very version.
        apt get install --simulate --no-install-recommends "${here[@]}" >plan
        mapfile -t here < <(sed -n 's/^Inst \([^ ]*\) .*(\([^ ]*\) .*/\1=\2/p' plan)
        apt get download "${here[@]}"
    )
    if ((${#there[@]})); then
        # A kernel's package is named by the one that names the newest.
        (cd "$tools/apt/new-arm64" && apt get download "${there[@]}" && fetch_named_kernel)
    fi
    for package in "$tools"/apt/new/*.deb; do dpkg-deb --extract "$package" "$debian"; done
    for package in "$tools"/apt/new-arm64/*.deb; do [[ ! -f $package ]] || dpkg-deb --extract "$package" "$debian-arm64"; done
    rm -rf "$tools/apt/new" "$tools/apt/new-arm64"
    printf '%s\n' "$wanted" >"$stamp"
}

fetch_named_kernel() {
    local named
    for named in linux-image-arm64_*.deb; do
        [[ -f $named ]] || return 0
        apt get download "$(dpkg-deb --field "$named" Depends | sed -n 's/.*\(linux-image-[^ ,]*\).*/\1/p'):arm64"
    done
}

# in_debian COMMAND...: runs a program of $debian with the libraries beside it.
in_debian() {
    LD_LIBRARY_PATH=$debian/usr/lib/x86_64-linux-gnu:$debian/lib/x86_64-linux-gnu "$debian/usr/bin/$1" "${@:2}"
}
