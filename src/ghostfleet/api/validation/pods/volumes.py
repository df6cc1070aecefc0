"""Volumes of a pod: each has a name of its own and exactly one source.

A *source* is the field that says where the volume's content comes from (`emptyDir`, `configMap`, ...). Sources of old
in-tree storage only have their required fields checked.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    dns_label,
    file_mode,
    invalid,
    local_path,
    no_backsteps,
    one_of,
    required,
)
from ghostfleet.api.validation.pods.environment import field_ref, resource_ref
from ghostfleet.api.validation.resources import amount
from ghostfleet.api.validation.storage_claims import claim_spec, csi_driver_name
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["SOURCE_CHECKS", "host_path", "volumes"]

Check = Callable[[Errors, str, Object], None]

_HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_MORE_THAN_ONE = "may not specify more than 1 volume type"
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")


def volumes(errors: Errors, path: str, found: list[Object], pod_name: str = "", *, is_pod: bool) -> dict[str, Object]:
    """Check all volumes; returns the good ones by name, for mounts to refer to."""
    good: dict[str, Object] = {}
    claims_to_come = {f"{pod_name}-{volume.get('name')}" for volume in found if pod_name and "ephemeral" in volume}
    for index, volume in enumerate(found):
        place = f"{path}[{index}]"
        before = len(errors)
        _source(errors, place, volume, is_pod=is_pod)
        name = volume.get("name", "")
        if required(errors, f"{place}.name", name):
            dns_label(errors, f"{place}.name", name)
        if name in good:
            errors.append(FieldError.duplicate(f"{place}.name", name))
        if len(errors) == before:
            good[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in claims_to_come:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(FieldError.invalid(f"{place}.persistentVolumeClaim.claimName", claim, why))
    return good


def _source(errors: Errors, path: str, volume: Object, *, is_pod: bool) -> None:
    # Volumes have one source and a name: look at those, not at all possible sources.
    sources = [field for field in volume if field != "name"]
    if len(sources) > 1:
        order = list(SOURCE_CHECKS)
        sources.sort(key=lambda field: order.index(field) if field in SOURCE_CHECKS else len(order))
    if not sources:
        errors.append(FieldError.required(path, "must specify a volume type"))
        return
    first, *others = sources
    source = volume[first]
    if first == "image":
        _image(errors, f"{path}.image", source, is_pod=is_pod)
    elif check := SOURCE_CHECKS.get(first):
        check(errors, f"{path}.{_PLACES.get(first, first)}", source)
    for other in others:
        errors.append(FieldError.forbidden(f"{path}.{_FORBIDDEN_PLACES.get(other, other)}", _MORE_THAN_ONE))


def _empty_dir(errors: Errors, path: str, source: Object) -> None:
    if "sizeLimit" in source and amount(source["sizeLimit"]) < 0:
        errors.append(FieldError.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity"))


def host_path(errors: Errors, path: str, source: Object) -> None:
    if not required(errors, f"{path}.path", source.get("path")):
        return
    no_backsteps(errors, f"{path}.path", source["path"])
    if source.get("type", "") not in _HOST_PATH_TYPES:
        errors.append(FieldError.unsupported(f"{path}.type", source["type"], _HOST_PATH_TYPES))


def _secret(errors: Errors, path: str, source: Object) -> None:
    required(errors, f"{path}.secretName", source.get("secretName"))
    _files(errors, path, source)


def _config_map(errors: Errors, path: str, source: Object) -> None:
    required(errors, f"{path}.name", source.get("name"))
    _files(errors, path, source)


def _files(errors: Errors, path: str, source: Object) -> None:
    file_mode(errors, f"{path}.defaultMode", source.get("defaultMode"))
    for index, item in enumerate(source.get("items") or ()):
        _key_to_path(errors, f"{path}.items[{index}]", item)


def _key_to_path(errors: Errors, path: str, item: Object) -> None:
    required(errors, f"{path}.key", item.get("key"))
    required(errors, f"{path}.path", item.get("path"))
    local_path(errors, f"{path}.path", item.get("path", ""), reserved=True)
    file_mode(errors, f"{path}.mode", item.get("mode"))


def _downward(errors: Errors, path: str, source: Object) -> None:
    file_mode(errors, f"{path}.defaultMode", source.get("defaultMode"))
    for item in source.get("items") or ():
        _downward_file(errors, path, item)


def _downward_file(errors: Errors, path: str, item: Object) -> None:
    required(errors, f"{path}.path", item.get("path"))
    local_path(errors, f"{path}.path", item.get("path", ""), reserved=True)
    if "fieldRef" in item:
        field_ref(errors, f"{path}.fieldRef", item["fieldRef"], _VOLUME_FIELDS)
        if "resourceFieldRef" in item:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(FieldError.invalid(path, "resource", why))
    elif "resourceFieldRef" in item:
        resource_ref(errors, f"{path}.resourceFieldRef", item["resourceFieldRef"], in_volume=True)
    else:
        errors.append(FieldError.required(path, "one of fieldRef and resourceFieldRef is required"))
    file_mode(errors, f"{path}.mode", item.get("mode"))


def _projected(errors: Errors, path: str, source: Object) -> None:
    file_mode(errors, f"{path}.defaultMode", source.get("defaultMode"))
    taken: set[str] = set()
    for index, projection in enumerate(source.get("sources") or ()):
        place = f"{path}.sources[{index}]"
        for sort in ("secret", "configMap"):
            if sort in projection:
                _projected_keys(errors, f"{place}.{sort}", projection[sort], path, taken)
        if "downwardAPI" in projection:
            for item in projection["downwardAPI"].get("items") or ():
                _downward_file(errors, f"{place}.downwardAPI", item)
                _take(errors, path, item.get("path", ""), item.get("path", ""), taken)
        if "serviceAccountToken" in projection:
            _projected_token(errors, path, f"{place}.serviceAccountToken", projection["serviceAccountToken"])
        if len(projection) > 1:
            errors.append(FieldError.forbidden(place, "may not specify more than 1 volume type per source"))


def _projected_keys(errors: Errors, path: str, projection: Object, volume: str, taken: set[str]) -> None:
    required(errors, f"{path}.name", projection.get("name"))
    for index, item in enumerate(projection.get("items") or ()):
        _key_to_path(errors, f"{path}.items[{index}]", item)
        _take(errors, volume, item.get("path", ""), projection.get("name", ""), taken)


def _take(errors: Errors, path: str, file: str, value: str, taken: set[str]) -> None:
    if file and file in taken:
        errors.append(FieldError.invalid(path, value, "conflicting duplicate paths"))
    taken.add(file)


def _projected_token(errors: Errors, volume: str, path: str, token: Object) -> None:
    seconds = token.get("expirationSeconds", 0)
    if seconds < 600:
        why = "may not specify a duration less than 10 minutes"
        errors.append(FieldError.invalid(f"{path}.expirationSeconds", seconds, why))
    if seconds > 2**32:
        why = "may not specify a duration larger than 2^32 seconds"
        errors.append(FieldError.invalid(f"{path}.expirationSeconds", seconds, why))
    if required(errors, f"{volume}.path", token.get("path")):
        local_path(errors, f"{volume}.path", token["path"], reserved=True)


def _claim(errors: Errors, path: str, source: Object) -> None:
    required(errors, f"{path}.claimName", source.get("claimName"))


def _nfs(errors: Errors, path: str, source: Object) -> None:
    required(errors, f"{path}.server", source.get("server"))
    required(errors, f"{path}.path", source.get("path"))
    if not source.get("path", "").startswith("/"):
        errors.append(FieldError.invalid(f"{path}.path", source.get("path", ""), "must be an absolute path"))


def _csi(errors: Errors, path: str, source: Object) -> None:
    csi_driver_name(errors, f"{path}.driver", source.get("driver", ""))
    if "nodePublishSecretRef" in source:
        required(errors, f"{path}.nodePublishSecretRef.name", source["nodePublishSecretRef"].get("name"))


def _ephemeral(errors: Errors, path: str, source: Object) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        errors.append(FieldError.required(f"{path}.volumeClaimTemplate"))
    else:
        claim_spec(errors, f"{path}.volumeClaimTemplate.spec", template.get("spec") or {})


def _image(errors: Errors, path: str, source: Object, *, is_pod: bool) -> None:
    if is_pod:
        required(errors, f"{path}.reference", source.get("reference"))
    one_of(errors, f"{path}.pullPolicy", source.get("pullPolicy", ""), _PULL_POLICIES)


def _image_of_template(errors: Errors, path: str, source: Object) -> None:
    _image(errors, path, source, is_pod=False)


def _fields(*needed: str) -> Check:
    def check(errors: Errors, path: str, source: Object) -> None:
        for field in needed:
            required(errors, f"{path}.{field}", source.get(field))

    return check


def _git_repo(errors: Errors, path: str, source: Object) -> None:
    required(errors, f"{path}.repository", source.get("repository"))
    local_path(errors, f"{path}.directory", source.get("directory", ""))


def _glusterfs(errors: Errors, path: str, source: Object) -> None:
    _fields("endpoints", "path")(errors, path, source)
    if "endpointsNamespace" in source:
        namespace = source["endpointsNamespace"]
        invalid(errors, f"{path}.endpointsNamespace", namespace, names.is_dns1123_label(namespace))


SOURCE_CHECKS: dict[str, Check] = {
    "emptyDir": _empty_dir,
    "hostPath": host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": _fields("pdName"),
    "awsElasticBlockStore": _fields("volumeID"),
    "secret": _secret,
    "nfs": _nfs,
    "iscsi": _fields("targetPortal", "iqn"),
    "glusterfs": _glusterfs,
    "flocker": _fields(),
    "persistentVolumeClaim": _claim,
    "rbd": _fields("monitors", "image"),
    "cinder": _fields("volumeID"),
    "cephfs": _fields("monitors"),
    "quobyte": _fields("registry", "volume"),
    "downwardAPI": _downward,
    "fc": _fields(),
    "flexVolume": _fields("driver"),
    "configMap": _config_map,
    "azureFile": _fields("secretName", "shareName"),
    "vsphereVolume": _fields("volumePath"),
    "photonPersistentDisk": _fields("pdID"),
    "portworxVolume": _fields("volumeID"),
    "azureDisk": _fields("diskName", "diskURI"),
    "storageos": _fields(),
    "projected": _projected,
    "scaleIO": _fields("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image_of_template,
}
#: Kubernetes calls these fields by other names in its messages.
_PLACES = {"gcePersistentDisk": "persistentDisk"}
_FORBIDDEN_PLACES = {"downwardAPI": "downwarAPI", "cephfs": "cephFS"}
