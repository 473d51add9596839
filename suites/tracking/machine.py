"""What asv should know of this machine: who measures, for which target, by which method.

``python -m suites.tracking.machine`` prints it as JSON. asv asks in a process of its own,
because torch is needed to ask and nothing of asv's own process should hold a GPU.

Every field of asv's ``machine.json`` splits series, so nothing is in it that changes by itself:
no kernel release, no host name, no memory size, and the clocks are those that the board is set
to run at, not those of the moment.
"""

from __future__ import annotations

import ctypes
import json
import platform
from typing import Any

from harness.files import slug
from harness.records import machine
from harness.records.machine import cpu_name, open_device
from harness.records.run import Machine
from suites.tracking.measure import TUNING


def describe() -> dict[str, Any]:
    """``machine``: asv's fields, all text; ``target``: the device kind that kernels are compiled
    for here, empty without a GPU; ``method``: the timer's and the tuner's."""
    from harness.records.timing import METHOD

    fields, target = machine_fields(), ""
    if "gpu" in fields:
        from harness.runtime.device import current_target
        from harness.target import TARGETS

        capability = current_target().capability
        target = next((n for n, one in TARGETS.items() if one.capability == capability), "")
    return {"machine": fields, "target": target, "method": f"{METHOD}+{TUNING}"}


def find_gpu() -> Machine | None:
    """The GPU that torch would use. Where no driver can be loaded there is none: importing torch to
    hear that takes seconds of every command."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    return machine.find_gpu()


def machine_fields() -> dict[str, str]:
    """Asv's description of this machine."""
    cpu, system = cpu_name(), {"os": platform.system(), "arch": platform.machine()}
    fields = {"machine": slug(cpu or platform.machine()), **system, "cpu": cpu}
    unsaid = {"num_cpu": "", "ram": ""}
    gpu = find_gpu()
    if gpu is None:
        return fields | unsaid
    sm, memory = (str(clock or "") for clock in set_clocks_mhz(gpu.gpu_uuid))
    clocks = [f"{clock}mhz" for clock in (sm, memory) if clock]
    return {
        **fields,
        **unsaid,
        "machine": slug(gpu.key, *clocks),
        "gpu": gpu.gpu or "",
        "driver": gpu.driver or "",
        "sm_clock_mhz": sm,
        "memory_clock_mhz": memory,
    }


def set_clocks_mhz(uuid: str | None) -> tuple[int | None, int | None]:
    """SM and memory clock that the board is set to: the applications' clocks, else the highest
    ones; None where the driver does not say."""
    found = open_device(uuid)
    if found is None:
        return None, None
    with found as device:
        kinds = (device.nvml.NVML_CLOCK_SM, device.nvml.NVML_CLOCK_MEM)
        asks = ("nvmlDeviceGetApplicationsClock", "nvmlDeviceGetMaxClockInfo")
        sm, memory = (next(filter(None, (device.ask(a, k) for a in asks)), None) for k in kinds)
        return sm, memory


if __name__ == "__main__":
    print(json.dumps(describe()))  # noqa: T201 - read by the process that started it
