#!/bin/sh
# replay-day.sh DAY.jsonl: the incidents and quarantines of a stored day, the same ones every time.
# Cut it out of the middle of the pipe with keep-day.sh. Try other rules with --threshold, --window and --cool-off.
set -eu
day=${1:?usage: replay-day.sh DAY.jsonl [OPTION of fleet-correlate]...}
shift

fleet-correlate --state memory: "$@" -- "$day" |
    jq -r 'select(.type == "incident" or .type == "quarantine")
           | [.ts, .type, .credentialId, (.targets | map(.name // .target) | join(" "))] | @tsv'
