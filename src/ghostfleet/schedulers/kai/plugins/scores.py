"""The steps of node scores (plugins/scores of KAI): a higher step decides before a lower one."""

MAX_HIGH_DENSITY = 9
RESOURCE_TYPE = 10
AVAILABILITY = 100
GPU_SHARING = 1000
TOPOLOGY = 10000
K8S_PLUGINS = 100000
NOMINATED_NODE = 1000000
