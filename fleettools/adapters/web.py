"""The door to web servers that take messages: a post each, and never waited for too long."""

import base64
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from fleettools.adapters.runner import SECONDS, Answer


def post(url: str, body: bytes, headers: Mapping[str, str], seconds: float = SECONDS) -> Answer:
    """Post to a web server; a status of 200 to 299 has taken it. Redirections are not followed.

    A proxy comes from the environment, name and password from the address. The answer names no address.
    """
    try:
        parts = urlsplit(url)
        connection, path, logins = _connection(parts, seconds)
    except ValueError:
        return Answer(False, "its address cannot be read")
    # A server that sends a byte now and then would hold off a time-out of the socket for ever.
    watch = threading.Timer(seconds, _cut, [connection])
    watch.daemon = True
    watch.start()
    try:
        connection.request("POST", path, body, {**headers, **logins})
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError) as error:
        late = isinstance(error, TimeoutError) or not watch.is_alive()
        return Answer(False, f"no answer within {seconds:g} s" if late else _why(error), maybe=True)
    finally:
        watch.cancel()
        connection.close()
    return Answer(200 <= status < 300, f"it answered with status {status}", maybe=status >= 500)


def _connection(parts: SplitResult, seconds: float) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
    """A connection, what to ask for on it, and the headers that names and passwords become."""
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    login, host = _login("Authorization", parts), parts.hostname or ""
    proxy = urlsplit(getproxies().get(parts.scheme, ""))
    if not proxy.hostname or proxy_bypass(host):
        return kind(host, parts.port, timeout=seconds), path, login
    connection, pass_on = kind(proxy.hostname, proxy.port, timeout=seconds), _login("Proxy-Authorization", proxy)
    if secure:
        connection.set_tunnel(host, parts.port, pass_on)
        return connection, path, login
    whole = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path or "/", parts.query, ""))
    return connection, whole, login | pass_on


def _login(header: str, parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {header: f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _cut(connection: http.client.HTTPConnection) -> None:
    with suppress(OSError, AttributeError):  # it may not have a socket yet, or any more
        connection.sock.shutdown(socket.SHUT_RDWR)


def _why(error: Exception) -> str:
    """What went wrong with a connection, by its kind: the text of an error may hold the address."""
    if isinstance(error, ssl.SSLError):
        return f"no secure connection ({error.reason or 'TLS'})"
    if isinstance(error, socket.gaierror):
        return "its host is not known here"
    if isinstance(error, OSError):
        return f"it cannot be reached ({error.strerror or type(error).__name__})"
    return f"no web server answers there ({type(error).__name__})"
