#!/bin/sh
# Tells people through Apprise (https://github.com/caronc/apprise), which knows a hundred services. Keep it with
# `fleetd sample alert-apprise.sh > ~/.config/fleettools/alert-apprise.sh`, and in fleetd.yaml:
#
#     alerts: [{name: people, exec: sh ~/.config/fleettools/alert-apprise.sh}]
#
# The services stand in Apprise's own configuration (~/.config/apprise.yml), or in $APPRISE_URLS. A status that is not 0
# makes fleettools try again, with growing pauses, for a day.
set -eu

case $FLEET_KIND in
    ended) type=success ;;
    nearly) type=warning ;;
    *) type=failure ;;
esac
exec apprise --notification-type "$type" --title "fleet: $FLEET_KIND on $FLEET_HOST" --body "$FLEET_TEXT"
