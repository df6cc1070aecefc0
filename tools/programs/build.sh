#!/bin/sh
# Builds programs that people run on Kubernetes into the user's cache, unmodified, from their Go modules: the parts of the
# KAI scheduler, Kueue and Helm, or those that are named (build.sh kai helm). Their custom resource definitions and charts
# are put beside them. Takes minutes once, then nothing; whatever is there already is left alone. Exits with 3 where there
# is no Go toolchain.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
home=${XDG_CACHE_HOME:-$HOME/.cache}/ghostfleet/programs
begun=$(date +%s)

# of PROJECT MODULE: from here on its programs are built, into a directory of its version.
of() {
    project=$1 module=$2
    version=$(sed -n "s|^require $module ||p" "$here/$project/go.mod")
    cache=$home/$project-$version
}

go_in() { (cd "$here/$project" && CGO_ENABLED=0 GOFLAGS="-buildvcs=false -mod=mod" go "$@"); }

# needed MARK: whether something is not there yet. Marks are written last, so that what was broken off is done again.
needed() {
    [ "$(cat "$cache/.$1" 2>/dev/null)" != "$version" ] || return 1
    if ! command -v go >/dev/null; then
        echo "$project $version: no Go toolchain here to build it (https://go.dev/dl has one); what needs it is skipped" >&2
        exit 3
    fi
    mkdir -p "$cache"
}

# build PROGRAM PACKAGE FLAGS
build() {
    if needed "$1"; then
        from=$(date +%s)
        echo "$project $version: building $1 (minutes, once) ..."
        go_in build -p "${GHOSTFLEET_BUILD_PROCESSES:-2}" -ldflags "-s -w ${3:-}" -o "$cache/$1" "$module/$2"
        echo "$version" >"$cache/.$1"
        echo "$project $version: $1 built in $(($(date +%s) - from)) s"
    else
        echo "$project $version: $1 is there already"
    fi
}

# copy NAME DIRECTORY: what the module has beside its programs.
copy() {
    if needed "$1"; then
        rm -rf "${cache:?}/$1"
        cp -r "$(go_in list -m -f '{{.Dir}}' "$module")/$2" "$cache/$1"
        chmod -R u+w "$cache/$1"
        echo "$version" >"$cache/.$1"
    fi
}

[ $# -gt 0 ] || set -- kai kueue helm
for name; do
    case $name in
    kai)
        of kai github.com/NVIDIA/KAI-scheduler
        for program in scheduler binder podgrouper podgroupcontroller queuecontroller admission; do
            build $program cmd/$program
        done
        copy crds deployments/kai-scheduler/crds
        ;;
    kueue)
        of kueue sigs.k8s.io/kueue
        build manager cmd/kueue
        copy crds config/components/crd/bases
        copy chart charts/kueue
        ;;
    helm)
        of helm helm.sh/helm/v3
        build helm cmd/helm "-X helm.sh/helm/v3/internal/version.version=$version"
        ;;
    *)
        echo "no program is named $name: expected kai, kueue or helm" >&2
        exit 2
        ;;
    esac
done
took=$(($(date +%s) - begun))
echo "Programs are in $home ($((took / 60)) min $((took % 60)) s)."
