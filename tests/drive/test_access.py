import stat
import sys

import pytest
import yaml

from ghostfleet.drive.access import Access
from ghostfleet.drive.choice import find_access
from ghostfleet.drive.connection import Connection
from ghostfleet.drive.interface import ConnectionFailed


def written(path, user, server="http://127.0.0.1:1", **cluster):
    entry = {"server": server, **cluster}
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": entry}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(config))
    return path


def test_a_token_a_token_file_and_a_password_are_shown(tmp_path):
    (tmp_path / "token").write_text("from-file\n")
    file = tmp_path / "config"
    assert Access(written(file, {"token": "t"})).authorization() == "Bearer t"
    assert Access(written(file, {"tokenFile": "token"})).authorization() == "Bearer from-file"
    assert Access(written(file, {"username": "me", "password": "pw"})).authorization() == "Basic bWU6cHc="
    assert Access(written(file, {})).authorization() == ""


def test_a_credential_plugin_is_asked_once_and_again_when_its_token_is_refused(tmp_path):
    plugin = tmp_path / "plugin"
    plugin.write_text(
        f"#!{sys.executable}\nimport json, os, pathlib\n"
        "count = pathlib.Path(os.environ['COUNT'])\n"
        "count.write_text(str(int(count.read_text() or 0) + 1))\n"
        "assert json.loads(os.environ['KUBERNETES_EXEC_INFO'])['kind'] == 'ExecCredential'\n"
        "print(json.dumps({'status': {'token': 'told-' + count.read_text()}}))\n"
    )
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    count = tmp_path / "count"
    count.write_text("")
    user = {"exec": {"command": "./plugin", "env": [{"name": "COUNT", "value": str(count)}]}}
    access = Access(written(tmp_path / "config", user))
    assert [access.authorization(), access.authorization()] == ["Bearer told-1", "Bearer told-1"]
    assert access.forget()
    assert access.authorization() == "Bearer told-2"


def test_a_missing_plugin_says_how_to_get_it(tmp_path):
    user = {"exec": {"command": "no-such-plugin", "installHint": "see the cloud's pages"}}
    with pytest.raises(ConnectionFailed, match="no-such-plugin is not there; see the cloud's pages"):
        Access(written(tmp_path / "config", user)).authorization()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a kubeconfig"),
        ("{", "is not a kubeconfig"),
        ("current-context: a\ncontexts: []\n", "has no context a; it has: none"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_named(tmp_path, text, message):
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(ConnectionFailed, match=message):
        Access(file)


def test_several_files_count_as_one_and_the_first_entry_of_a_name_is_taken(tmp_path):
    first, second = tmp_path / "a" / "config", tmp_path / "b" / "config"
    for file in (first, second):
        file.parent.mkdir()
    first.write_text(yaml.safe_dump({"users": [{"name": "u", "user": {"tokenFile": "token"}}]}))
    (first.parent / "token").write_text("first")
    written(second, {"token": "second"}, server="http://127.0.0.1:7")
    access = Access([tmp_path / "missing", first, second])
    assert (access.url, access.context) == ("http://127.0.0.1:7", "here")
    assert access.authorization() == "Bearer first"


def test_a_file_without_a_current_context_says_to_name_one(tmp_path):
    file = tmp_path / "config"
    file.write_text("contexts: []\n")
    with pytest.raises(ConnectionFailed, match="no current-context; name one by --context"):
        Access(file)


def test_a_cluster_that_does_not_answer_is_named_at_once(tmp_path):
    with pytest.raises(ConnectionFailed, match=r"http://127\.0\.0\.1:1 does not answer"):
        Connection(Access(written(tmp_path / "config", {}))).get("/version")


def test_a_name_that_is_not_running_says_how_to_start_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(ConnectionFailed, match="cluster lab is not running; `ghostfleet up lab --detach` starts it"):
        find_access("lab")
