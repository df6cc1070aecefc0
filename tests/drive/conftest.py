"""Both kinds of cluster behind the one interface: in process on a virtual clock, and served on a scaled one."""

import threading

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.core.clock import WallClock
from ghostfleet.drive.access import Access
from ghostfleet.drive.embedded import Embedded
from ghostfleet.drive.remote import Remote
from ghostfleet.server import kubeconfig
from ghostfleet.server.app import App
from ghostfleet.server.auth import Authenticator
from ghostfleet.server.serve import HttpServer

TOKEN = "a-token"


@pytest.fixture
def served(tmp_path):
    """The kubeconfig of a cluster that is served on a clock ten times as fast as real time."""
    clock = WallClock(10.0)
    cluster = Cluster(clock, ClusterConfig())
    server = HttpServer(App(cluster.api, Authenticator(TOKEN), about=cluster.about), clock=clock)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(lambda _url: ready.set(),))
    thread.start()
    try:
        assert ready.wait(30)
        path = tmp_path / "kubeconfig"
        kubeconfig.write(path, kubeconfig.render("lab", server.url, TOKEN, None))
        yield path
    finally:
        server.stop()
        thread.join(10)


@pytest.fixture(params=["embedded", "remote"])
def cluster(request):
    if request.param == "embedded":
        opened = Embedded(Cluster(config=ClusterConfig()))
    else:
        opened = Remote(Access(request.getfixturevalue("served")))
    yield opened
    opened.close()
