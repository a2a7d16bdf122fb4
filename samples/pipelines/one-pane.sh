#!/bin/sh
# one-pane.sh PANE [AGENT]: what became of the turn in this pane? Ends with 1 when it failed, 69 when it cannot be seen.
# Needs neither a configuration nor a running fleetd.
set -eu
pane=${1:?usage: one-pane.sh PANE [AGENT]}
agent=${2:-claude}

# -e keeps the colours, which tell an agent's own error from one that it quotes; -J joins wrapped lines.
screen=$(tmux capture-pane -e -J -p -t "$pane") || exit 69
verdict=$(printf '%s\n' "$screen" | fleet-classify --text --agent "$agent")
printf '%s\n' "$verdict" | jq -r '"\(.outcome): \(.reason)", (.line // empty | "  \(.)")'
printf '%s\n' "$verdict" | jq -e '.outcome | IN("failed", "backend_error", "exhausted") | not' >/dev/null
