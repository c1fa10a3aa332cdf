# shellcheck shell=bash
# The rule of removal for shell scripts (docs/reliability.md, "What is removed, and when"): a folder is removed or
# replaced only if all of it is ours, which its record says or a claim on it; no link is followed. To be sourced.

# In a folder that was made whole: a line for each of its files. In a folder to work in: who works there.
owned_record=.rueda-files
owned_claim=.rueda-work

# Prints a line for each file of a folder, with the hash of its content, and for each link, with its target.
content_of() { # folder
  (
    cd "$1" &&
      find . -type f ! -path "./$owned_record" -exec sha256sum {} + &&
      find . ! -type f ! -type d -printf '%y  %p -> %l\n'
  ) | LC_ALL=C sort
}

# Writes the record of a folder of which all is ours.
record_folder() { # folder
  local content
  content=$(content_of "$1") && echo "$content" >"$1/$owned_record"
}

# Prints why a folder must not be replaced. Nothing where there is none, or an empty one, or one that holds nothing
# but what its record names, unchanged.
obstacle_to_replace() { # folder
  local content foreign record=$1/$owned_record
  if [ -L "$1" ]; then echo "is a link"; return; fi
  [ -e "$1" ] || return 0
  if [ ! -d "$1" ]; then echo "is no folder"; return; fi
  if [ -L "$record" ] || [ ! -f "$record" ]; then record=/dev/null; fi
  content=$(content_of "$1") || { echo "cannot be read whole"; return; }
  foreign=$(LC_ALL=C comm -13 "$record" <(echo -n "${content:+$content$'\n'}"))
  [ -z "$foreign" ] || printf 'holds what was not put there by an earlier call: %q' "$(name_in "${foreign%%$'\n'*}")"
}

# The name in a line of content_of.
name_in() { # line
  local name=${1#*  }
  [[ $1 == [a-z]"  "* ]] && name=${name% -> *}
  echo "${name#./}"
}

# Puts a folder in the place of another that may be replaced, on the same file system. The earlier one waits in a third
# place, so that it can come back, and then is removed.
replace_folder() { # new, place, where the earlier one waits
  rm -rf -- "$3"
  if [ -e "$2" ] && [ -n "$(ls -A "$2")" ]; then
    mv -T -- "$2" "$3"
    mv -T -- "$1" "$2" || { mv -T -- "$3" "$2"; return 1; }
    rm -rf -- "$3"
    echo "removed the earlier content of $2"
  else
    mv -T -- "$1" "$2"
  fi
}

# Makes a folder to work in, or takes one that an earlier call of the same script made, and keeps it locked until the
# script ends. Otherwise `obstacle` says why the folder cannot be had.
# shellcheck disable=SC2034
claim_folder() { # folder, name of the script
  local mark=$1/$owned_claim lock
  if [ -L "$1" ] || [ -L "$mark" ]; then
    obstacle="is a link, or holds one"
  elif ! mkdir -p "$1"; then
    obstacle="cannot be made"
  elif [ -n "$(ls -A "$1")" ] && { [ ! -f "$mark" ] || [ "$(head -n 1 "$mark")" != "$2" ]; }; then
    obstacle="is not empty, and $2 did not make it"
  elif ! { [ -s "$mark" ] || echo "$2" >"$mark"; } || ! exec {lock}<"$mark"; then
    obstacle="cannot be written into"
  elif ! flock --nonblock "$lock"; then
    obstacle="is in use by another call of $2"
  else
    return 0
  fi
  return 1
}
