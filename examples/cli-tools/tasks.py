#!/usr/bin/env python3
"""A to-do list. Its tools for an AI: mcpivot --tools-from "python3 tasks.py" """
import argparse, json, os, sys

FILE = os.environ.get("TASKS_FILE", "tasks.json")

TOOLS = [
    {
        "name": "add_task",
        "description": "Adds a task to the list.",
        "parameters": {
            "properties": {
                "text": {"type": "string", "minLength": 1},
                "tags": {"type": "array", "items": {"type": "string"}},
                "urgent": {"type": "boolean"},
            },
            "required": ["text"],
        },
        "cli_command": ["add", "--tag", "{tags}", "--urgent", "{urgent}", "--", "{text}"],
    },
    {
        "name": "list_tasks",
        "description": "Lists the tasks, all of them or those with a tag.",
        "parameters": {"properties": {"tag": {"type": "string"}}},
        "cli_command": ["list", "--tag", "{tag}"],
        "annotations": {"readOnlyHint": True},
    },
]


def load():
    try:
        with open(FILE, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return []


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("schema", "add", "list"):
        command = commands.add_parser(name)
        command.add_argument("--json", action="store_true")
        if name == "add":
            command.add_argument("--tag", action="append", default=[])
            command.add_argument("--urgent", action="store_true")
            command.add_argument("text")
        if name == "list":
            command.add_argument("--tag")
    args = parser.parse_args()

    if args.command == "schema":
        print(json.dumps({"tools": TOOLS}))
    elif args.command == "add":
        tasks = load()
        tasks.append({"text": args.text, "tags": args.tag, "urgent": args.urgent})
        with open(FILE, "w", encoding="utf-8") as file:
            json.dump(tasks, file)
        print(json.dumps({"added": tasks[-1], "count": len(tasks)}))
    else:
        found = [task for task in load() if args.tag is None or args.tag in task["tags"]]
        print(json.dumps({"tasks": found}))


if __name__ == "__main__":
    sys.exit(main())
