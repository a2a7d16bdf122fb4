#!/bin/sh
# keep-day.sh [FOLDER]: the whole pipe, with a copy of every verdict in FOLDER, a file for each start.
# It runs until ^C. What has to be kept up across a crash is a matter for fleetd.
set -eu
folder=${1:-.}
day=$folder/fleet-$(date -u +%Y-%m-%dT%H%M%SZ).jsonl
: >"$day"                 # tee would go on without a copy

fleet-scrape --follow |
    fleet-classify |
    tee "$day" |
    fleet-resolve |
    fleet-correlate |
    fleet-notify |
    jq --unbuffered -c 'select(.type | IN("incident", "quarantine", "unmapped", "delivery", "tmux"))'
