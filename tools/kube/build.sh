#!/bin/sh
# Builds a real control plane into the user's cache: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and
# kwok from their Go modules, and kubectl. Takes minutes once, then nothing; whatever is there already is left alone.
# Exits with 3 where there is no Go toolchain.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version() { sed -n "s|^require $2 ||p" "$here/$1/go.mod"; }

etcd=$(version etcd go.etcd.io/etcd/server/v3)
kubernetes=$(version kubernetes k8s.io/kubernetes)
kwok=$(version kwok sigs.k8s.io/kwok)
home=${XDG_CACHE_HOME:-$HOME/.cache}/ghostfleet
cache=$home/kube/$kubernetes
begun=$(date +%s)

minor=${kubernetes#v*.}
stamp="-X k8s.io/component-base/version.gitVersion=$kubernetes -X k8s.io/component-base/version.gitMajor=1"
stamp="$stamp -X k8s.io/component-base/version.gitMinor=${minor%%.*}"

# build MODULE PROGRAM VERSION PACKAGE FLAGS
build() {
    # The mark says which version is there; it is written last, so that a build that was broken off is done again.
    if [ -x "$cache/$2" ] && [ "$(cat "$cache/.$2" 2>/dev/null)" = "$3" ]; then
        echo "$2 $3: there already"
        return
    fi
    if ! command -v go >/dev/null; then
        echo "$2 $3: no Go toolchain here to build it (https://go.dev/dl has one);" \
            "what needs a real control plane is skipped" >&2
        exit 3
    fi
    from=$(date +%s)
    echo "$2 $3: building (minutes, once) ..."
    (cd "$here/$1" && CGO_ENABLED=0 GOFLAGS="-buildvcs=false -mod=mod" go build -ldflags "-s -w $5" \
        -o "$cache/$2" "$4")
    echo "$3" >"$cache/.$2"
    echo "$2 $3: built in $(($(date +%s) - from)) s"
}

mkdir -p "$cache"
build etcd etcd "$etcd" go.etcd.io/etcd/server/v3 ""
for program in kube-apiserver kube-controller-manager kube-scheduler; do
    build kubernetes $program "$kubernetes" k8s.io/kubernetes/cmd/$program "$stamp"
done
build kwok kwok "$kwok" sigs.k8s.io/kwok/cmd/kwok ""

sh "$here/../get-kubectl.sh"
newest=$(find "$home/kubectl" -name 'kubectl-1.*.*' | sort -V | tail -n 1)
if [ -n "$newest" ]; then
    ln -sf "$newest" "$cache/kubectl"
fi
took=$(($(date +%s) - begun))
echo "A real control plane is in $cache ($((took / 60)) min $((took % 60)) s)."
