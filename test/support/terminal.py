# Runs a program on a terminal and answers what it asks there: terminal.py REACTIONS PROGRAM ARGUMENT…
# REACTIONS is JSON, a list of {"see": pattern, "type": text} (with "end", what is typed behind it in the place of Return) or {"see": pattern, "run": command}, each waited for in its turn. A command
# gets all that was said so far on its standard input.
import json, os, pty, re, subprocess, sys

reactions = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
seen = ""
everything = b""
while True:
    try:
        said = os.read(terminal, 65536)
    except OSError:
        break
    if not said:
        break
    sys.stdout.buffer.write(said)
    sys.stdout.flush()
    everything += said
    seen += said.decode(errors="replace")
    while reactions and (match := re.search(reactions[0]["see"], seen)):
        reaction, *reactions = reactions
        seen = seen[match.end():]
        if "type" in reaction:
            os.write(terminal, (reaction["type"] + reaction.get("end", "\n")).encode())
        else:
            subprocess.run(["bash", "-c", reaction["run"]], input=everything, check=True)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if reactions:
    sys.exit(f"never seen: {reactions[0]['see']}")
sys.exit(code)
