"""A processor that announces AMX and cannot execute it, caused on one that can.

Linux lets a process use AMX's tiles only after it has asked; else they are an illegal instruction.
oneDNN asks through libc's syscall(): a preloaded library answers that all is well and asks nobody.
    python3 tests/cpu/false_amx.py [build/bin/kedge]
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

KEDGE = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin/kedge").resolve()

LIE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
enum { GET_PERMISSION = 0x1022, ASK_PERMISSION = 0x1023 };
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_arch_prctl && a[0] == ASK_PERMISSION) return 0;
  if (number == SYS_arch_prctl && a[0] == GET_PERMISSION) {
    *(unsigned long*)a[1] = ~0UL;
    return 0;
  }
  long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


class FalseAmx(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.here = pathlib.Path(self.folder.name)
        (self.here / "lie.c").write_text(LIE)
        command = ["cc", "-shared", "-fPIC", "-o", "lie.so", "lie.c", "-ldl"]
        subprocess.run(command, cwd=self.here, check=True)

    def train(self, **variables: str) -> subprocess.CompletedProcess:
        words = ["data.name=synthetic", "model.name=simplecnn", "train.epochs=1"]
        words += ["data.samples=64", "train.precision=bf16", "train.device=cpu"]
        inherited = {k: v for k, v in os.environ.items() if k != "ONEDNN_MAX_CPU_ISA"}
        environment = {"HOME": str(self.here), "LD_PRELOAD": str(self.here / "lie.so")}
        return subprocess.run(
            [KEDGE, "train", *words],
            cwd=self.here,
            env=inherited | environment | variables,
            capture_output=True,
            text=True,
        )

    def test_kedge_trains_where_amx_kills(self) -> None:
        # With a limit of the user's own kedge tries nothing, and dies as PyTorch does.
        killed = self.train(ONEDNN_MAX_CPU_ISA="DEFAULT")
        self.assertIn(killed.returncode, (-signal.SIGILL, 128 + signal.SIGILL), killed.stderr)
        for start in ("tried", "remembered"):
            done = self.train()
            self.assertEqual(done.returncode, 0, f"{start}: {done.stderr}")
            self.assertIn("ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16", done.stderr, start)


if __name__ == "__main__":
    if "amx_bf16" not in pathlib.Path("/proc/cpuinfo").read_text():
        print("skipped: this processor has no AMX that could be taken away")
        sys.exit(0)
    unittest.main()
