#!/bin/sh
# The sample runs of Run:ai's scale test tool, on clusters that do not exist.
set -eu
ghostfleet scale-test -t training -n 2000 -p 5 --delay 1 --nodes 1000 --gpus 8 -o out1 --force
ghostfleet scale-test -t distributed -n 1000 --num-workers 7 --pvc -p 1 --delay 5 --nodes 1000 --gpus 8 -o out2 --force
