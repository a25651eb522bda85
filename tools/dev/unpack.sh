# Debian 13's programs on an older system, without installing them: packages and the libraries they
# need are unpacked into a folder of their own, and the programs are made to use that folder's
# loader and libraries. Only for tests. Sourced, never run.

# The paths are written into the programs: the folder cannot be moved. It is none of root's home,
# because daemons run as other users.
unpacked_folder=/var/cache/kedge

# The mirror that this machine's apt uses.
debian_mirror() {
  apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null |
    grep -m 1 -E '/debian/?$'
}

# use_own_libraries PREFIX FOLDERS FILE...: FOLDERS of libraries, with colons between them. What the
# programs start goes on using the machine's own: unlike LD_LIBRARY_PATH, an RPATH is not inherited.
use_own_libraries() {
  local prefix=$1 folders=$2 file
  shift 2
  for file; do
    if [[ -f $file && ! -L $file ]] && patchelf --print-interpreter "$file" >/dev/null 2>&1; then
      patchelf --set-interpreter "$prefix/usr/lib64/ld-linux-x86-64.so.2" --force-rpath \
        --set-rpath "$folders" "$file"
    fi
  done
}

# fill_prefix PREFIX PACKAGES FINISH SUITE: FINISH is a function that gets the prefix.
fill_prefix() {
  local prefix=$1 packages=$2 finish=$3 suite=$4
  # Joined by &&: callers test the result, and bash then does not stop at the first error.
  apt_install mmdebstrap patchelf &&
    rm -rf "$prefix" &&
    mmdebstrap --mode=root --variant=extract --components=main \
      --aptopt='Acquire::Retries "3"' --aptopt='Acquire::Check-Valid-Until "false"' \
      --include="$packages" "$suite" "$prefix" "$(debian_mirror)" &&
    chmod 755 "$prefix" &&
    "$finish" "$prefix" &&
    touch "$prefix/complete"
}

# unpack_once NAME PACKAGES FINISH [SUITE]: prints the prefix, or why there is none and ends with 1.
# A second call does nothing and takes no time.
unpack_once() {
  local prefix=$unpacked_folder/$1 packages=$2 finish=$3 suite=${4:-trixie}
  if [[ ! -e $prefix/complete ]]; then
    ((EUID == 0)) || { echo "only root can unpack $1 here"; return 1; }
    command -v apt-get >/dev/null || { echo "there is no apt-get to fetch $1"; return 1; }
    [[ $(uname -m) == x86_64 ]] || { echo "$1 is fetched on x86_64 only"; return 1; }
    mkdir -p "$unpacked_folder"
    chmod 755 "$unpacked_folder"
    exec 9>"$prefix.lock"
    flock 9
  fi
  if [[ ! -e $prefix/complete ]]; then
    # In a subshell: apt_install ends the shell where it cannot install.
    if ! (fill_prefix "$prefix" "$packages" "$finish" "$suite") >"$prefix.log" 2>&1; then
      echo "$1 cannot be unpacked here: $(tail -n 1 "$prefix.log")"
      return 1
    fi
  fi
  echo "$prefix"
}
