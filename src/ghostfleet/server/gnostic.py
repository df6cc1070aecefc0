"""An OpenAPI v2 document in gnostic's protobuf form, which kubectl asks `/openapi/v2` for.

Gnostic describes OpenAPI v2 by protobuf messages (`openapi.v2.Document` and what it holds). `_MESSAGES` lists them as
`key=number:sort`, the key being the one in JSON; a *sort* is the name of a writer or of another message, `string` where
it is not said, and `*` marks a repeated field. A *writer* turns a JSON value into the bytes of a field's value. Keys
that start with `x-` are *vendor extensions*: a name and the value as YAML text, for which JSON will do. Keys that a
message does not know are left out: the format has no place for them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

__all__ = ["encode"]

MessageWriter = Callable[[Any], bytes]
#: JSON key -> (tag, writer, repeated)
Message = dict[str, tuple[bytes, MessageWriter, bool]]

# Headers, items and the four sorts of parameters limit values by the same fields, at numbers that differ by an offset.
_LIMITS = (
    "type={0} format={1} items={2}:PrimitivesItems collectionFormat={3} default={4}:any maximum={5}:double "
    "exclusiveMaximum={6}:boolean minimum={7}:double exclusiveMinimum={8}:boolean maxLength={9}:integer "
    "minLength={10}:integer pattern={11} maxItems={12}:integer minItems={13}:integer uniqueItems={14}:boolean "
    "enum={15}:any* multipleOf={16}:double"
)


def _limits(first: int) -> str:
    return _LIMITS.format(*range(first, first + 17))


_PARAMETER = "required=1:boolean in=2 description=3 name=4 "
_OAUTH2 = "type=1 flow=2 scopes=3:named_strings "

_MESSAGES = {
    "Document": "swagger=1 info=2:Info host=3 basePath=4 schemes=5* consumes=6* produces=7* paths=8:paths "
    "definitions=9:named_schemas parameters=10:named_parameters responses=11:named_responses security=12:requirement* "
    "securityDefinitions=13:named_security tags=14:Tag* externalDocs=15:ExternalDocs x-=16",
    "Info": "title=1 version=2 description=3 termsOfService=4 contact=5:Contact license=6:License x-=7",
    "Contact": "name=1 url=2 email=3 x-=4",
    "License": "name=1 url=2 x-=3",
    "Tag": "name=1 description=2 externalDocs=3:ExternalDocs x-=4",
    "ExternalDocs": "description=1 url=2 x-=3",
    "PathItem": "$ref=1 get=2:Operation put=3:Operation post=4:Operation delete=5:Operation options=6:Operation "
    "head=7:Operation patch=8:Operation parameters=9:parameter_or_reference* x-=10",
    "Operation": "tags=1* summary=2 description=3 externalDocs=4:ExternalDocs operationId=5 produces=6* consumes=7* "
    "parameters=8:parameter_or_reference* responses=9:responses schemes=10* deprecated=11:boolean "
    "security=12:requirement* x-=13",
    "JsonReference": "$ref=1 description=2",
    "BodyParameter": "description=1 name=2 in=3 required=4:boolean schema=5:Schema x-=6",
    "HeaderParameter": _PARAMETER + _limits(5) + " x-=22",
    "PathParameter": _PARAMETER + _limits(5) + " x-=22",
    "QueryParameter": _PARAMETER + "allowEmptyValue=5:boolean " + _limits(6) + " x-=23",
    "FormDataParameter": _PARAMETER + "allowEmptyValue=5:boolean " + _limits(6) + " x-=23",
    "PrimitivesItems": _limits(1) + " x-=18",
    "Header": _limits(1) + " description=18 x-=19",
    "Response": "description=1 schema=2:response_schema headers=3:named_headers examples=4:named_any x-=5",
    "Schema": "$ref=1 format=2 title=3 description=4 default=5:any multipleOf=6:double maximum=7:double "
    "exclusiveMaximum=8:boolean minimum=9:double exclusiveMinimum=10:boolean maxLength=11:integer minLength=12:integer "
    "pattern=13 maxItems=14:integer minItems=15:integer uniqueItems=16:boolean maxProperties=17:integer "
    "minProperties=18:integer required=19* enum=20:any* additionalProperties=21:schema_or_boolean type=22:strings "
    "items=23:schemas allOf=24:Schema* properties=25:named_schemas discriminator=26 readOnly=27:boolean xml=28:Xml "
    "externalDocs=29:ExternalDocs example=30:any x-=31",
    "FileSchema": "format=1 title=2 description=3 default=4:any required=5* type=6 readOnly=7:boolean "
    "externalDocs=8:ExternalDocs example=9:any x-=10",
    "Xml": "name=1 namespace=2 prefix=3 attribute=4:boolean wrapped=5:boolean x-=6",
    "BasicAuthentication": "type=1 description=2 x-=3",
    "ApiKey": "type=1 name=2 in=3 description=4 x-=5",
    "Oauth2Implicit": _OAUTH2 + "authorizationUrl=4 description=5 x-=6",
    "Oauth2Password": _OAUTH2 + "tokenUrl=4 description=5 x-=6",
    "Oauth2Application": _OAUTH2 + "tokenUrl=4 description=5 x-=6",
    "Oauth2AccessCode": _OAUTH2 + "authorizationUrl=4 tokenUrl=5 description=6 x-=7",
}


def encode(swagger: Mapping[str, Any]) -> bytes:
    """The document's bytes."""
    return b"".join(_fields(_TABLES["Document"], swagger))


def _varint(value: int) -> bytes:
    if 0 <= value < 128:
        return value.to_bytes()
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _sized(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _string(value: str) -> bytes:
    return _sized(value.encode())


def _boolean(value: bool) -> bytes:
    return b"\x01" if value else b"\x00"


def _double(value: float) -> bytes:
    return struct.pack("<d", value)


def _any(value: Any) -> bytes:
    return _sized(b"\x12" + _sized(orjson.dumps(value)))


def _strings(value: str | list[str]) -> bytes:
    """A message of repeated strings; JSON may have just one, bare."""
    return _sized(b"".join(b"\x0a" + _string(text) for text in ([value] if isinstance(value, str) else value)))


def _fields(table: Message, value: Mapping[str, Any]) -> Iterator[bytes]:
    for key, part in value.items():
        known = table.get(key)
        if known is None:
            if key[:2] == "x-" and "x-" in table:
                yield table["x-"][0] + _pair(key, _any(part))
            continue
        tag, write, repeated = known
        for item in part if repeated else (part,):
            yield tag + write(item)


def _message(name: str) -> MessageWriter:
    table = _TABLES[name]
    return lambda value: _sized(b"".join(_fields(table, value)))


def _pair(name: str, value: bytes) -> bytes:
    return _sized(b"\x0a" + _string(name) + b"\x12" + value)


def _named(write: MessageWriter, field: int = 1, extensions: int = 0) -> MessageWriter:
    """A message of free names: pairs of name and value, and of vendor extensions where there are such."""
    tag, extension_tag = _varint(field << 3 | 2), _varint(extensions << 3 | 2)

    def pairs(values: Mapping[str, Any]) -> Iterator[bytes]:
        for name, value in values.items():
            if extensions and name[:2] == "x-":
                yield extension_tag + _pair(name, _any(value))
            else:
                yield tag + _pair(name, write(value))

    return lambda values: _sized(b"".join(pairs(values)))


def _either(choose: Callable[[Any], tuple[int, str]]) -> MessageWriter:
    """A message that holds one of several others: `choose` tells its field number and writer."""

    def write(value: Any) -> bytes:
        field, writer = choose(value)
        return _sized(_varint(field << 3 | _WIRE_TYPES.get(writer, 2)) + _WRITERS[writer](value))

    return write


def _parameter_sort(value: Mapping[str, Any]) -> tuple[int, str]:
    return (1, "BodyParameter") if value.get("in") == "body" else (2, "non_body_parameter")


def _non_body_sort(value: Mapping[str, Any]) -> tuple[int, str]:
    sorts = {"header": (1, "Header"), "formData": (2, "FormData"), "query": (3, "Query"), "path": (4, "Path")}
    field, sort = sorts.get(value.get("in", ""), sorts["query"])
    return field, sort + "Parameter"


def _security_sort(value: Mapping[str, Any]) -> tuple[int, str]:
    if value.get("type") != "oauth2":
        return (2, "ApiKey") if value.get("type") == "apiKey" else (1, "BasicAuthentication")
    flows = {"password": (4, "Oauth2Password"), "application": (5, "Oauth2Application")}
    flows["accessCode"] = (6, "Oauth2AccessCode")
    return flows.get(value.get("flow", ""), (3, "Oauth2Implicit"))


def _or_reference(sort: str) -> MessageWriter:
    return _either(lambda value: (2, "JsonReference") if "$ref" in value else (1, sort))


def _schemas(value: Any) -> bytes:
    """`items`: one schema or several."""
    write = _WRITERS["Schema"]
    return _sized(b"".join(b"\x0a" + write(schema) for schema in (value if isinstance(value, list) else [value])))


_WIRE_TYPES = {"boolean": 0, "integer": 0, "double": 1}
_TABLES: dict[str, Message] = {name: {} for name in _MESSAGES}
_WRITERS: dict[str, MessageWriter] = {name: _message(name) for name in _MESSAGES}
_WRITERS |= {"string": _string, "boolean": _boolean, "integer": _varint, "double": _double, "any": _any}
_WRITERS |= {
    "strings": _strings,
    "schemas": _schemas,
    "requirement": _named(_strings),
    "non_body_parameter": _either(_non_body_sort),
    "parameter": _either(_parameter_sort),
    "parameter_or_reference": _or_reference("parameter"),
    "response_or_reference": _or_reference("Response"),
    "response_schema": _either(lambda value: (2, "FileSchema") if value.get("type") == "file" else (1, "Schema")),
    "schema_or_boolean": _either(lambda value: (2, "boolean") if isinstance(value, bool) else (1, "Schema")),
    "security": _either(_security_sort),
    "named_any": _named(_any),
    "named_strings": _named(_string),
    "named_headers": _named(_WRITERS["Header"]),
    "named_schemas": _named(_WRITERS["Schema"]),
}
_WRITERS |= {
    "paths": _named(_WRITERS["PathItem"], field=2, extensions=1),
    "responses": _named(_WRITERS["response_or_reference"], extensions=2),
    "named_parameters": _named(_WRITERS["parameter"]),
    "named_responses": _named(_WRITERS["Response"]),
    "named_security": _named(_WRITERS["security"]),
}


def _fill(table: Message, text: str) -> None:
    for field in text.split():
        key, _, rest = field.partition("=")
        repeated = rest.endswith("*")
        number, _, sort = rest.rstrip("*").partition(":")
        sort = sort or "string"
        table[key] = (_varint(int(number) << 3 | _WIRE_TYPES.get(sort, 2)), _WRITERS[sort], repeated)


for _name, _text in _MESSAGES.items():
    _fill(_TABLES[_name], _text)
