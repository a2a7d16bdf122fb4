#!/bin/sh
# when-free.sh PROFILE COMMAND [ARGUMENT]...: wait until the gate lets the profile spawn, then run the command.
# An orchestrator's loop: for each piece of work, `when-free.sh claude-a start-one-more "$work"`.
set -eu
profile=${1:?usage: when-free.sh PROFILE COMMAND [ARGUMENT]...}
shift

while :; do
    status=0
    decision=$(fleet-gate --profile "$profile") || status=$?
    case $status in
        0) exec "$@" ;;
        75) ;;                  # not now; any other status would be the same the next time
        *) exit "$status" ;;
    esac
    seconds=$(printf '%s\n' "$decision" | jq '.quarantinedForSeconds // .coolingOffForSeconds // 5')
    # A person may lift a quarantine before its time.
    [ "$seconds" -le 60 ] || seconds=60
    sleep "$seconds"
done
