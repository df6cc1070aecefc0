"""The official Python client against a running cluster: ask for GPUs, and watch the pod get them.

ghostfleet up --detach --nodes 4 --gpus 8
export KUBECONFIG=$(ghostfleet kubeconfig --path)
pip install kubernetes
python examples/01-python-client.py
"""

from __future__ import annotations

from kubernetes import client, config, watch


def main() -> None:
    config.load_kube_config()
    core = client.CoreV1Api()

    container = {"name": "train", "image": "trainer:1", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    pod = {"metadata": {"generateName": "train-"}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    made = core.create_namespaced_pod("default", pod)

    # Everything that happens to the pod after it was made.
    changes = watch.Watch()
    for change in changes.stream(
        core.list_namespaced_pod,
        "default",
        field_selector=f"metadata.name={made.metadata.name}",
        resource_version=made.metadata.resource_version,
        timeout_seconds=30,
    ):
        seen = change["object"]
        print(f"{change['type']:<9} {seen.metadata.name} on {seen.spec.node_name}: {seen.status.phase}")
        if seen.status.phase == "Running":
            changes.stop()

    core.delete_namespaced_pod(made.metadata.name, "default", grace_period_seconds=0)


if __name__ == "__main__":
    main()
