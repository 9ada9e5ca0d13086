#!/bin/sh
# The mirror tool under the name that Kafka gives it: same options, same columns. A thin call of `kagami mirrors`.
set -eu
self=$0
while [ -h "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=$(dirname "$self")/$link ;;
  esac
done
exec "$(CDPATH= cd -P "$(dirname "$self")" && pwd)/kagami" mirrors "$@"
