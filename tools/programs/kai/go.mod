module ghostfleet/tools/programs/kai

go 1.26.0

require github.com/NVIDIA/KAI-scheduler v0.12.0
