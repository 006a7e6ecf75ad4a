# SPDX-License-Identifier: Apache-2.0
#
# For ./test: `step NAME COMMAND...` runs a command with its output in a log, shows that it is alive,
# shows the log's end when it fails, and goes on; `summary` prints one line per step, then
# `N passed, N failed` over all of them. A log's last line of that form gives a step's counts;
# a step without one counts as one test. `ahead NAME COMMAND...` starts what a later `step NAME` waits for.

step_logs=$(mktemp -d)
declare -A step_ahead=()  # the processes started ahead, by the names of their steps
step_lines=()
step_failures=()  # what the failed steps' logs say of their failures
total_passed=0
total_failed=0

finish_steps() {
  local pid
  for pid in "${step_ahead[@]}"; do
    kill -- "-$pid" 2>/dev/null
  done
  rm -rf "$step_logs"
}
trap finish_steps EXIT

# Runs a command, then writes down its exit code: what the shell remembers of a process that ended long ago it forgets
# as soon as another one gets its number.
noting_code() {
  local file=$1 code=0
  shift
  "$@" || code=$?
  echo "$code" >"$file"
}
export -f noting_code

# In a group of its own, to be ended whole.
ahead() {
  local name=$1
  shift
  rm -f "$step_logs/$name.code"
  setsid bash -c 'noting_code "$@"' bash "$step_logs/$name.code" "$@" >"$step_logs/$name" 2>&1 </dev/null &
  step_ahead[$name]=$!
}

# Prints the log's latest line: in place on a terminal, every half minute otherwise.
show_progress() {
  local name=$1 log=$2 started=$3 pid=$4 shown=0 elapsed
  while [ ! -s "$log.code" ] && kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    elapsed=$((SECONDS - started))
    if [ -t 1 ]; then
      printf '\r\033[K%s %ss  %.60s' "$name" "$elapsed" "$(tail -n 1 "$log" 2>/dev/null)"
    elif [ $((elapsed / 30)) -gt "$shown" ]; then
      shown=$((elapsed / 30))
      printf '   %s %ss  %.90s\n' "$name" "$elapsed" "$(tail -n 1 "$log" 2>/dev/null)"
    fi
  done
  [ ! -t 1 ] || printf '\r\033[K'
}

step() {
  local name=$1 log="$step_logs/$1" started=$SECONDS code=0 passed failed counts verdict=ok line
  shift
  local pid=${step_ahead[$name]:-}
  if [ -z "$pid" ]; then
    rm -f "$log.code"  # of another step of that name
    noting_code "$log.code" "$@" >"$log" 2>&1 </dev/null &
    pid=$!
  fi
  show_progress "$name" "$log" "$started" "$pid"
  code=$(cat "$log.code" 2>/dev/null) || code=127  # ended from outside
  unset "step_ahead[$name]"

  counts=$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1 || true)
  passed=${counts%% passed*}
  failed=${counts##*, }
  failed=${failed%% failed*}
  if [ -z "$counts" ]; then
    passed=1 failed=0
    [ "$code" -eq 0 ] || passed=0
  fi
  if [ "$code" -ne 0 ] || [ "$failed" -gt 0 ]; then
    verdict=FAILED
    [ "$failed" -gt 0 ] || failed=1
    echo "---- $name failed (exit code $code), the end of its output:"
    tail -n 60 "$log"
    echo "----"
    while IFS= read -r line; do
      step_failures+=("$name: $line")
    done < <(grep -aE '^(FAIL|ERROR)\b|^ *(✖|not ok) |^\[  FAILED|^ *[A-Za-z]*Error\b' "$log" | head -n 20)
  fi
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
  step_lines+=("$(printf '%-22s %-7s %6ss  %s passed, %s failed' "$name" "$verdict" \
    $((SECONDS - started)) "$passed" "$failed")")
  echo "${step_lines[-1]}"
  [ "$verdict" = ok ]
}

# Notes a step that cannot run because what it needs failed.
skip() {
  total_failed=$((total_failed + 1))
  step_lines+=("$(printf '%-22s %-7s %s' "$1" FAILED "not run: $2")")
  echo "${step_lines[-1]}"
}

# Exit code 0 when nothing failed.
summary() {
  echo
  echo "Summary after ${SECONDS}s"
  printf '%s\n' "${step_lines[@]}"
  [ ${#step_failures[@]} -eq 0 ] || printf '%s\n' "${step_failures[@]}"
  echo "$total_passed passed, $total_failed failed"
  [ "$total_failed" -eq 0 ]
}
