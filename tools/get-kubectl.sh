#!/bin/sh
# Puts real kubectl binaries into the user's cache, for the tests that drive them: the newest, built from its Go module,
# and Debian's 1.20, unpacked from its package. Whatever cannot be had is said and left out.
set -eu
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ghostfleet/kubectl
mkdir -p "$cache"
here=$(cd "$(dirname "$0")" && pwd)

newest=$(sed -n 's|^\tk8s.io/kubectl v0\.||p' "$here/kubectl/go.mod")
if [ -x "$cache/kubectl-1.$newest" ]; then
    echo "kubectl 1.$newest: in $cache"
elif command -v go >/dev/null; then
    echo "kubectl 1.$newest: building from its Go module (minutes, once)"
    flags="-s -w"
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        flags="$flags -X $package.gitVersion=v1.$newest -X $package.gitMajor=1 -X $package.gitMinor=${newest%%.*}"
    done
    (cd "$here/kubectl" && CGO_ENABLED=0 GOFLAGS=-mod=mod go build -buildvcs=false -trimpath -ldflags "$flags" \
        -o "$cache/kubectl-1.$newest" .) || echo "kubectl 1.$newest: the build failed; its tests are skipped"
else
    echo "kubectl 1.$newest: no Go toolchain here; its tests are skipped"
fi

if [ -x "$cache/kubectl-1.20" ]; then
    echo "kubectl 1.20: in $cache"
elif command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    # Unpacked, not installed: the package may conflict with a kubectl that is already on the machine.
    if (cd "$work" && { apt-get download -qq kubernetes-client || { apt-get update -qq && apt-get download -qq kubernetes-client; }; } \
        && dpkg-deb -x kubernetes-client_*.deb .) >/dev/null 2>&1; then
        cp "$work/usr/bin/kubectl" "$cache/kubectl-1.20"
        echo "kubectl 1.20: from Debian's package"
    else
        echo "kubectl 1.20: Debian's kubernetes-client cannot be had here; its tests are skipped"
    fi
else
    echo "kubectl 1.20: not a Debian system; its tests are skipped"
fi
