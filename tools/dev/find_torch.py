"""Print the folder above the torch package of this Python, if kedge can be built against it."""
import pathlib
import sys


def die(message: str) -> None:
    sys.exit(f"dev: error: --torch python: {message}")


def main(oldest: str) -> None:
    try:
        import torch
    except ImportError as error:
        die(f"{sys.executable} cannot import torch ({error}); activate the environment that has it")
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < tuple(int(part) for part in oldest.split(".")):
        die(f"torch {torch.__version__} is older than {oldest}; --torch cpu fetches one")
    package = pathlib.Path(torch.__file__).resolve().parent
    for needed in ("include/torch/csrc/api/include/torch/torch.h", "lib/libtorch_cpu.so"):
        if not (package / needed).exists():
            die(f"{package} has no {needed}; use the torch of PyPI")
    if not torch.compiled_with_cxx11_abi():
        die(f"torch {torch.__version__} was compiled with the old C++ ABI; use the torch of PyPI")
    print(package.parent)


main(sys.argv[1])
