#!/usr/bin/env python3
import json, subprocess, sys
observer = subprocess.Popen(["SLOB", "observe"], stdin=sys.stdin, stdout=subprocess.PIPE)
first = None
def bend(value):
    global first
    if not isinstance(value, dict): return
    if "at_s" in value:
        first = first or dict(value)
        LIE
    for inner in value.values(): bend(inner)
for line in observer.stdout:
    said = json.loads(line)
    bend(said)
    print(json.dumps(said), flush=True)
