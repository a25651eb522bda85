"""A file system that shows changes late, as network file systems do.

`late_fs.py BACKING MOUNT` passes everything on to BACKING. Several mounts of one BACKING are as
several machines: each has its own cache of names and attributes (--cache seconds, kept by the
kernel), and does not see files that another mount made in the last --delay seconds. link(),
rename() and exclusive creation have one winner, as on NFS. Needs root, libfuse.so.2 and fusepy
(PyPI's, or Debian's python3-fusepy, which calls its module otherwise).
"""

import argparse
import errno
import os
import stat
import time

try:
    import fuse
except ImportError:
    import fusepy as fuse


class LateFs(fuse.Operations):
    def __init__(self, backing: str, delay: float):
        self.backing = backing
        self.delay = delay
        self.seen = set()  # inodes that were made here, or are old enough

    def real(self, path: str) -> str:
        return self.backing + path

    def note(self, path: str) -> None:
        self.seen.add(os.lstat(self.real(path)).st_ino)

    def is_hidden(self, info: os.stat_result) -> bool:
        if stat.S_ISDIR(info.st_mode) or info.st_ino in self.seen:
            return False
        if time.time() - info.st_ctime < self.delay:
            return True
        self.seen.add(info.st_ino)
        return False

    def getattr(self, path, handle=None):
        try:
            info = os.lstat(self.real(path))
        except OSError as error:
            raise fuse.FuseOSError(error.errno) from None
        if self.is_hidden(info):
            raise fuse.FuseOSError(errno.ENOENT)
        names = ["atime", "ctime", "mtime", "gid", "mode", "nlink", "size", "uid", "ino"]
        return {f"st_{name}": getattr(info, f"st_{name}") for name in names}

    def readdir(self, path, handle):
        names = [".", ".."]
        for entry in os.scandir(self.real(path)):
            try:
                if not self.is_hidden(entry.stat(follow_symlinks=False)):
                    names.append(entry.name)
            except FileNotFoundError:
                pass
        return names

    def open(self, path, flags):
        return os.open(self.real(path), flags)

    def create(self, path, mode, info=None):
        handle = os.open(self.real(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        self.note(path)
        return handle

    def read(self, path, size, offset, handle):
        return os.pread(handle, size, offset)

    def write(self, path, data, offset, handle):
        return os.pwrite(handle, data, offset)

    def truncate(self, path, length, handle=None):
        os.truncate(self.real(path), length)

    def flush(self, path, handle):
        return 0

    def fsync(self, path, datasync, handle):
        return 0

    def fsyncdir(self, path, datasync, handle):
        return 0

    def release(self, path, handle):
        os.close(handle)
        return 0

    def link(self, target, source):  # target is the new name
        os.link(self.real(source), self.real(target))
        return 0

    def rename(self, old, new):
        os.rename(self.real(old), self.real(new))
        self.note(new)
        return 0

    def unlink(self, path):
        os.unlink(self.real(path))

    def mkdir(self, path, mode):
        os.mkdir(self.real(path), mode)

    def rmdir(self, path):
        os.rmdir(self.real(path))

    def chmod(self, path, mode):
        os.chmod(self.real(path), mode)
        return 0

    def utimens(self, path, times=None):
        os.utime(self.real(path), times)
        return 0

    def readlink(self, path):
        return os.readlink(self.real(path))

    def symlink(self, target, source):
        os.symlink(source, self.real(target))

    def statfs(self, path):
        info = os.statvfs(self.real(path))
        names = ["bavail", "bfree", "blocks", "bsize", "favail", "ffree", "files", "frsize"]
        return {f"f_{name}": getattr(info, f"f_{name}") for name in names} | {"f_namemax": 255}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backing")
    parser.add_argument("mount")
    parser.add_argument("--cache", type=float, default=1)
    parser.add_argument("--delay", type=float, default=0.5)
    options = parser.parse_args()
    fuse.FUSE(
        LateFs(os.path.realpath(options.backing), options.delay),
        options.mount,
        foreground=True,
        nothreads=True,
        use_ino=True,
        attr_timeout=options.cache,
        entry_timeout=options.cache,
        negative_timeout=options.cache,
    )


if __name__ == "__main__":
    main()
