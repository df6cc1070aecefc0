from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml

from ghostfleet.server.kubeconfig import KubeconfigError, default_path, merge, remove, render, write

OTHERS = """\
# mine
apiVersion: v1
kind: Config
preferences: {colors: true}
clusters:
- name: work
  cluster:
    server: https://work.example
    insecure-skip-tls-verify: true
contexts:
- context: {cluster: work, user: jane}
  name: work
current-context: work
users:
- name: jane
  user:
    username: jane
    password: 0123
    expiry: 2026-01-01T00:00:00Z
"""


def lab(name: str = "lab", url: str = "https://127.0.0.1:6443") -> dict:
    return render(name, url, "t0ken", b"-----BEGIN CERTIFICATE-----\n")


def entry(config: dict, part: str, name: str) -> dict:
    (found,) = (item for item in config[part] if item["name"] == name)
    return found


def test_a_config_names_cluster_user_and_context_alike():
    config = lab()
    assert entry(config, "contexts", "ghostfleet-lab")["context"] == {
        "cluster": "ghostfleet-lab",
        "user": "ghostfleet-lab",
    }
    cluster = entry(config, "clusters", "ghostfleet-lab")["cluster"]
    assert cluster["server"] == "https://127.0.0.1:6443"
    assert base64.b64decode(cluster["certificate-authority-data"]) == b"-----BEGIN CERTIFICATE-----\n"
    assert entry(config, "users", "ghostfleet-lab")["user"] == {"token": "t0ken"}
    assert config["current-context"] == "ghostfleet-lab"


def test_without_tls_there_is_no_authority():
    config = render("lab", "http://127.0.0.1:8080", "t0ken", None)
    assert config["clusters"][0]["cluster"] == {"server": "http://127.0.0.1:8080"}


def test_a_config_is_written_for_its_owner_only(tmp_path):
    path = tmp_path / "new" / "kubeconfig"
    write(path, lab())
    assert yaml.safe_load(path.read_text()) == lab()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("before", [None, "", "# nothing\n", "null\n", "clusters: null\nusers: []\n"])
def test_merging_into_nothing_gives_the_config_itself(tmp_path, before):
    path = tmp_path / "config"
    if before is not None:
        path.write_text(before)
    merge(path, lab())
    assert yaml.safe_load(path.read_text()) == lab()
    assert path.stat().st_mode & 0o777 == 0o600


def test_merging_keeps_what_else_is_there_as_it_was_spelled(tmp_path):
    path = tmp_path / "config"
    path.write_text(OTHERS)
    merge(path, lab())
    text = path.read_text()
    for line in ("password: 0123", "expiry: 2026-01-01T00:00:00Z", "insecure-skip-tls-verify: true"):
        assert line in text
    merged, before = yaml.safe_load(text), yaml.safe_load(OTHERS)
    assert merged["current-context"] == "ghostfleet-lab"
    assert merged["preferences"] == {"colors": True}
    for part in ("clusters", "contexts", "users"):
        assert merged[part] == before[part] + lab()[part]


def test_merging_again_replaces_the_entries_in_place(tmp_path):
    path = tmp_path / "config"
    merge(path, lab())
    merge(path, lab("other"))
    merge(path, lab(url="https://127.0.0.1:7443"))
    merged = yaml.safe_load(path.read_text())
    assert [item["name"] for item in merged["clusters"]] == ["ghostfleet-lab", "ghostfleet-other"]
    assert entry(merged, "clusters", "ghostfleet-lab")["cluster"]["server"] == "https://127.0.0.1:7443"
    assert merged["current-context"] == "ghostfleet-lab"


def test_removing_undoes_merging(tmp_path):
    path = tmp_path / "config"
    path.write_text(OTHERS)
    merge(path, lab())
    remove(path, "lab")
    assert yaml.safe_load(path.read_text()) == yaml.safe_load(OTHERS) | {"current-context": ""}


def test_removing_leaves_the_current_context_of_others(tmp_path):
    path = tmp_path / "config"
    merge(path, lab())
    merge(path, lab("other"))
    remove(path, "lab")
    assert yaml.safe_load(path.read_text()) == lab("other")


def test_removing_from_no_file_makes_none(tmp_path):
    remove(tmp_path / "config", "lab")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    ["a: [", "- just\n- a list\n", "kind: Pod\n", "clusters: {work: {}}\n", "a: 1\n---\nb: 2\n", "\x00", "scalar"],
)
@pytest.mark.parametrize("change", [lambda path: merge(path, lab()), lambda path: remove(path, "lab")])
def test_an_invalid_file_is_refused_and_left_alone(tmp_path, text, change):
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(KubeconfigError, match=str(path)):
        change(path)
    assert path.read_text() == text
    assert [file.name for file in tmp_path.iterdir()] == ["config"]


def test_a_file_that_somebody_else_changes_is_left_alone(tmp_path):
    path, lock = tmp_path / "config", tmp_path / "config.lock"
    path.write_text(OTHERS)
    lock.touch()
    with pytest.raises(KubeconfigError, match="somebody else"):
        merge(path, lab())
    assert path.read_text() == OTHERS
    assert lock.exists()


def test_the_first_file_of_kubeconfig_is_the_default():
    assert default_path({"KUBECONFIG": ":/a/first:/b/second"}) == Path("/a/first")
    assert default_path({"KUBECONFIG": ""}) == default_path({}) == Path.home() / ".kube" / "config"
