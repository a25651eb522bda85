# Runs the scripts of a folder by name: what ./dev bench and ./dev soak share. Sourced, never run.

# run_scripts VERB FOLDER [options and names]
run_scripts() {
  local verb=$1 folder=$2 argument name script
  local -a names=()
  shift 2
  for argument; do
    case $argument in
      -h | --help) print_usage "tools/dev/$verb.sh"; return ;;
      --list) list_scripts "$folder"; return ;;
      -*) usage_error "$verb: unknown option '$argument'" ;;
      *) names+=("$argument") ;;
    esac
  done
  if ((${#names[@]} == 0)); then
    mapfile -t names < <(list_scripts "$folder")
    ((${#names[@]})) || die "$folder/ has no scripts yet"
  fi
  for name in "${names[@]}"; do
    find_script "$folder" "$name" >/dev/null || usage_error "$verb: there is no $folder/$name"
  done

  bash tools/dev/build.sh
  PATH="$PWD/build/bin:$PATH"
  for name in "${names[@]}"; do
    script=$(find_script "$folder" "$name")
    say "$script"
    "$script"
  done
}

# Executable .sh and .py files are measurements; others are what they share.
list_scripts() {
  local script
  for script in "$1"/*.sh "$1"/*.py; do
    [[ ! -x $script ]] || basename "${script%.*}"
  done
}

find_script() {
  local script
  for script in "$1/$2" "$1/$2.sh" "$1/$2.py"; do
    if [[ -f $script && -x $script ]]; then
      echo "$script"
      return
    fi
  done
  return 1
}
