"""A small service manager: holds sockets, starts a program with them (sd_listen_fds(3)), and prints what it is told
(sd_notify(3)), one word a line. A line on standard input restarts the program; the end of it ends both."""
import ctypes, os, select, socket, subprocess, sys

notify_path, program = sys.argv[1], sys.argv[2:]
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind(notify_path)
sockets = [socket.create_server(("127.0.0.1", 0), backlog=511) for _ in range(2)]
print("smtp=%d http=%d" % tuple(one.getsockname()[1] for one in sockets), flush=True)

def start():
    def pass_on():
        # It does not outlive this one, however that ends.
        ctypes.CDLL(None).prctl(1, 9)
        # As systemd does: descriptors from 3 on, and the process is told that they are its own.
        held = [os.dup(one.fileno()) for one in sockets]
        for number, descriptor in enumerate(held):
            os.dup2(descriptor, 3 + number, inheritable=True)
        os.environ.update(LISTEN_FDS="2", LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES="smtp:http",
                          NOTIFY_SOCKET=notify_path, WATCHDOG_USEC="200000")
        os.execvp(program[0], program)
    child = os.fork()
    if child == 0:
        pass_on()
    return child

child = start()
while True:
    ready, _, _ = select.select([notify, sys.stdin], [], [])
    if notify in ready:
        print(notify.recv(4096).decode().replace("\n", " "), flush=True)
    if sys.stdin in ready:
        line = sys.stdin.readline()
        os.kill(child, 15)
        os.waitpid(child, 0)
        if not line:
            break
        child = start()
