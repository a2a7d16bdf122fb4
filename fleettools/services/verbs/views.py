"""The two views of the fleet: who is in it, and which profiles may spawn."""

from fleettools.config import Config
from fleettools.policy import views
from fleettools.policy.heartbeat import DAEMONS, DaemonState
from fleettools.policy.views import View
from fleettools.services import fleet
from fleettools.services.store import Store, read_all


def members(config: Config, store: Store, *, released: bool) -> View:
    """The object that fleet-list prints, with the `released` members if asked for."""
    coverage = views.health_coverage(config.health.enabled, config.health.webhook)
    known, found = fleet.situation(store, config), fleet.members(store)
    made = views.fleet_view(config, known, found, released=released, coverage=coverage)
    daemons = views.daemons(dict(read_all(store, DAEMONS, DaemonState)), store.now_ms())
    return {**made, "daemons": daemons} if daemons else made


def profiles(config: Config, store: Store) -> View:
    """The object that fleet-profiles prints."""
    return views.profiles_view(config, fleet.situation(store, config))
