#!/bin/sh
# The entry point of kubernetes/perf-tests, for Ghostfleet: ./run-e2e.sh <tool-name> [options...]
# Tests run on the cluster of $KUBECONFIG, where that is set, else on a fresh one in virtual time.
set -eu
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
Usage: ./run-e2e.sh <tool-name> [options...]

Tools:
  cluster-loader2       performance and scale tests of a Kubernetes cluster, by ClusterLoader2's configs
  network-performance   benchmarks of the network (needs a real network; not to be had here)
  kube-dns              tests of kube-dns (needs a real network; not to be had here)
  core-dns              tests of CoreDNS (needs a real network; not to be had here)
  node-local-dns        tests of NodeLocalDNS (needs a real network; not to be had here)

./run-e2e.sh cluster-loader2 --help lists its options.
TEXT
}

case "${1:-}" in
  cluster-loader2)
    shift
    ;;
  --help | -h | help)
    usage
    exit 0
    ;;
  network-performance | kube-dns | core-dns | node-local-dns)
    echo "run-e2e.sh: $1 needs a real network, which fake nodes do not have; run it on a real cluster with perf-tests" >&2
    exit 2
    ;;
  *)
    usage >&2
    exit 2
    ;;
esac

named=""
for each in "$@"; do
  case "$each" in
    --kubeconfig | --kubeconfig=* | --cluster | --cluster=* | --context | --context=*) named=yes ;;
  esac
done
# Paths may begin at the root of perf-tests or at its directory clusterloader2, as they do in its pages.
count=$#
while [ "$count" -gt 0 ]; do
  case "$1" in
    --testconfig=clusterloader2/*) set -- "$@" "--testconfig=${1#--testconfig=clusterloader2/}" ;;
    *) set -- "$@" "$1" ;;
  esac
  shift
  count=$((count - 1))
done
if [ -z "$named" ] && [ -n "${KUBECONFIG:-}" ]; then
  set -- --kubeconfig "$KUBECONFIG" "$@"
fi
exec ghostfleet clusterloader "$@"
