#!/usr/bin/env bash
# Looks at files. Its tools for an AI: mcpivot --tools-from ./files.sh --result-args ""
set -euo pipefail

case ${1:-} in
  schema)
    cat <<'JSON'
{ "tools": [
  { "name": "largest_files",
    "description": "The largest files below a folder, with their sizes in bytes.",
    "parameters": {
      "properties": {
        "folder": { "type": "string" },
        "count": { "type": "integer", "minimum": 1, "maximum": 100 }
      },
      "required": ["folder"]
    },
    "cli_command": ["largest", "{folder}", "{count}"],
    "annotations": { "readOnlyHint": true },
    "timeout": "1m" },
  { "name": "show_file",
    "description": "Returns a text file.",
    "parameters": { "properties": { "path": { "type": "string" } }, "required": ["path"] },
    "cli_command": ["show", "{path}"] }
] }
JSON
    ;;
  largest)
    echo "looking through $2" >&2 # a line of progress
    find "$2" -type f -printf '%s %P\n' | sort -rn | head -n "${3:-10}"
    ;;
  show)
    [ -f "$2" ] || { echo "no such file: $2" >&2; exit 1; }
    path=${2//\\/\\\\}
    printf '{"file": "%s", "mimeType": "text/plain"}\n' "${path//\"/\\\"}"
    ;;
  *)
    echo "usage: files.sh schema|largest|show" >&2
    exit 2
    ;;
esac
