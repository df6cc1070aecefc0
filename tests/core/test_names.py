"""Names against the answers of apimachinery's validation."""

from __future__ import annotations

import pytest

from ghostfleet.core import names

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
DNS_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
NAME_PART = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
CONFIG_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
ENV_NAME = (
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not "
    "start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is "
    "'[-._a-zA-Z][-._a-zA-Z0-9]*')"
)
RELAXED_ENV_NAME = "a valid environment variable name must consist only of printable ASCII characters other than '='"


@pytest.mark.parametrize(
    ("check", "valid"),
    [
        (names.is_dns1123_label, ["a", "0", "my-name", "123-abc", "a" * 63]),
        (names.is_dns1123_subdomain, ["a", "a.b", "1.2", "a-b.c-d", "a" * 253]),
        (names.is_dns1035_label, ["a", "my-name", "abc-123", "a" * 63]),
        (names.is_wildcard_dns1123_subdomain, ["*.example.com"]),
        (names.is_qualified_name, ["a", "A_b.c-d", "example.com/A", "1.2.3.4/5", "a" * 253 + "/" + "b" * 63]),
        (names.is_label_value, ["", "a", "A_b.c-d", "a" * 63]),
        (names.is_config_map_key, ["a", ".bashrc", "A_B-c.d", "a" * 253]),
        (names.is_env_var_name, ["A", "_", "my.env-name"]),
        (names.is_relaxed_env_var_name, ["1", "a b", "~", "#"]),
        (names.is_path_segment_name, ["", "system:node", "Iñtërnâtiônàl", "...", ".x"]),
        (names.is_path_segment_prefix, ["", ".", ".."]),
        (names.is_port_name, ["http", "a", "8080a", "a-b", "a" * 15]),
        (names.is_c_identifier, ["a", "_A9"]),
        (names.is_percent, ["0%", "100%"]),
        (names.is_http_header_name, ["X-Header-Name", "-"]),
    ],
)
def test_valid_names_get_no_messages(check, valid):
    assert [check(value) for value in valid] == [[] for _ in valid]


@pytest.mark.parametrize(
    ("check", "value", "messages"),
    [
        (names.is_dns1123_label, "", [LABEL]),
        (names.is_dns1123_label, "A", [LABEL]),
        (names.is_dns1123_label, "a\n", [LABEL]),
        (names.is_dns1123_label, "-a", [LABEL]),
        (names.is_dns1123_label, "a.b", ["must not contain dots"]),
        (names.is_dns1123_label, "a" * 64, ["must be no more than 63 characters"]),
        (names.is_dns1123_label, "A" * 64, ["must be no more than 63 characters", LABEL]),
        (names.is_dns1123_subdomain, "a..b", [SUBDOMAIN]),
        (names.is_dns1123_subdomain, "é" * 127, ["must be no more than 253 characters", SUBDOMAIN]),
        (names.is_dns1035_label, "1a", [DNS_1035]),
        (names.is_qualified_name, "", ["name part must be non-empty", f"name part {NAME_PART}"]),
        (names.is_qualified_name, "/a", ["prefix part must be non-empty"]),
        (names.is_qualified_name, "A/a", [f"prefix part {SUBDOMAIN}"]),
        (names.is_qualified_name, "a" * 254 + "/a", ["prefix part must be no more than 253 bytes"]),
        (names.is_qualified_name, "a" * 64, ["name part must be no more than 63 bytes"]),
        (
            names.is_qualified_name,
            "a/b/c",
            [
                f"a valid label key {NAME_PART} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')"
            ],
        ),
        (names.is_label_value, "a b", [LABEL_VALUE]),
        (names.is_label_value, "a" * 64, ["must be no more than 63 bytes"]),
        (names.is_config_map_key, "", [CONFIG_KEY]),
        (names.is_config_map_key, "a/b", [CONFIG_KEY]),
        (names.is_config_map_key, ".", ["must not be '.'"]),
        (names.is_config_map_key, "..", ["must not be '..'"]),
        (names.is_config_map_key, "..a", ["must not start with '..'"]),
        (names.is_env_var_name, "1A", [ENV_NAME]),
        (names.is_env_var_name, "..", ["must not be '..'"]),
        (names.is_relaxed_env_var_name, "", ["environment variable name must be non-empty"]),
        (names.is_relaxed_env_var_name, "a=b", [RELAXED_ENV_NAME]),
        (names.is_relaxed_env_var_name, "a\n", [RELAXED_ENV_NAME]),
        (names.is_path_segment_name, "..", ["may not be '..'"]),
        (names.is_path_segment_name, "a/%", ["may not contain '/'", "may not contain '%'"]),
        (
            names.is_port_name,
            "-a--B_0123456789",
            [
                "must be no more than 15 characters",
                "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                "must not contain consecutive hyphens",
                "must not begin or end with a hyphen",
            ],
        ),
        (names.is_port_name, "80", ["must contain at least one letter (a-z)"]),
        (names.is_port_number, 0, ["must be between 1 and 65535, inclusive"]),
        (
            names.is_c_identifier,
            "a-b",
            [
                "a valid C identifier must start with alphabetic character or '_', followed by a string of "
                "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for "
                "validation is '[A-Za-z_][A-Za-z0-9_]*')"
            ],
        ),
        (
            names.is_percent,
            "10",
            [
                "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
                "regex used for validation is '[0-9]+%')"
            ],
        ),
        (
            names.is_http_header_name,
            "a:b",
            [
                "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used "
                "for validation is '[-A-Za-z0-9]+')"
            ],
        ),
        (
            names.is_wildcard_dns1123_subdomain,
            "a.b",
            [
                "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must "
                "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character "
                "(e.g. '*.example.com', regex used for validation is "
                r"'\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ],
        ),
    ],
)
def test_other_names_get_the_messages_of_kubernetes(check, value, messages):
    assert check(value) == messages


def test_port_numbers_fit_sixteen_bits():
    assert [names.is_port_number(port) for port in (1, 65535)] == [[], []]
    assert names.is_port_number(65536)


@pytest.mark.parametrize("hostile", ["a" * 200_000 + "!", "a." * 100_000 + "!", "-" * 200_000, "a-" * 100_000])
@pytest.mark.timeout(20)
def test_hostile_names_are_refused_quickly(hostile):
    for check in (names.is_dns1123_label, names.is_dns1123_subdomain, names.is_qualified_name, names.is_label_value):
        assert check(hostile)
