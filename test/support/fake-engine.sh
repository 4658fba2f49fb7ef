#!/bin/sh
# A container engine for tests. Its containers are processes of this machine in sessions of their own, which do not end
# with the program that started them. What it was called with is recorded in files beside it; files there say how it
# misbehaves: `down` (no daemon), `stuck` (`run` hangs before the container exists), `ignore` (`rm` does nothing),
# `slow` (a number of seconds that `run` waits before the container exists, also without its client).
dir=$(dirname "$0")
log () { printf '%s\n' "$@" '--' >> "$dir/calls"; }
log "$@"
while [ "$1" = --option ]; do shift 2; done

start () { # NAME LABELS PROGRAM ARGUMENTS…
  name=$1 labels=$2
  shift 2
  setsid "$@" <&3 3<&- &
  pid=$!
  printf '%s' "$labels" > "$dir/containers/$name.labels"
  echo $pid > "$dir/containers/$name"
}

case "$1" in
  --version) cat "$dir/version" 2> /dev/null || echo 'Docker version 99.0, build fake' ;;
  version | info)
    if [ -f "$dir/down" ]; then echo 'Cannot connect to the Docker daemon' >&2; exit 1; fi
    echo '{"Version":"99.0"}' ;;
  image) # inspect --format FORMAT IMAGE
    case "$5" in missing*) echo "Error: No such image: $5" >&2; exit 1 ;; esac
    echo sha256:0 ;;
  run)
    env > "$dir/environment"
    if [ -f "$dir/down" ]; then echo 'docker: Cannot connect to the Docker daemon' >&2; exit 125; fi
    name='' labels='' image='' program=''
    while [ $# -gt 0 ]; do
      case "$1" in
        --name) name=$2; shift ;;
        --label) labels="$labels$2
"; shift ;;
        --entrypoint=*) program=${1#--entrypoint=}; image=$2; shift 2; break ;;
      esac
      shift
    done
    case "$image" in missing*) echo "docker: Error response from daemon: No such image: $image" >&2; exit 125 ;; esac
    [ -f "$dir/stuck" ] && exec sleep 600
    exec 3<&0
    if [ -f "$dir/slow" ]; then
      (trap '' TERM; sleep "$(cat "$dir/slow")"; start "$name" "$labels" "$program" "$@") &
      wait; exit 1
    fi
    start "$name" "$labels" "$program" "$@"
    wait $pid
    code=$?
    rm -f "$dir/containers/$name" "$dir/containers/$name.labels"
    exit $code ;;
  rm)
    code=0
    [ -f "$dir/ignore" ] && { echo 'Error: the daemon is busy' >&2; exit 1; }
    shift
    for name in "$@"; do
      case "$name" in --*) continue ;; esac
      if pid=$(cat "$dir/containers/$name" 2> /dev/null); then
        kill -9 "-$pid"
        rm -f "$dir/containers/$name" "$dir/containers/$name.labels"
        echo "$name"
      else
        echo "Error response from daemon: No such container: $name" >&2
        code=1
      fi
    done
    exit $code ;;
  ps) # --all --quiet --filter label=KEY=VALUE
    for file in "$dir"/containers/*.labels; do
      grep -qxF "${5#label=}" "$file" 2> /dev/null && basename "$file" .labels | sed 's/[^0-9a-f]//g'
    done
    exit 0 ;;
  inspect)
    for file in "$dir"/containers/*.labels; do
      echo "/$(basename "$file" .labels) $(sed -n 's/^io.skillet.owner=//p' "$file")"
    done ;;
  *) echo "unknown command $1" >&2; exit 1 ;;
esac
