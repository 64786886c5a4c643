import { arch } from 'node:os';
import { describe, expect, test } from 'vitest';
import { findSandbox } from '../../src/tools/process/find-sandbox.ts';
import { seccompFilter } from '../../src/tools/process/seccomp-filter.ts';
import { agentTargets } from '../tools/agent-targets.ts';

const sandbox = await findSandbox({ PATH: process.env.PATH });
const inSandbox = sandbox.found ? describe : () => undefined;
const limits = sandbox.found ? sandbox.limiter.inForce : undefined;
const whereProcessesAreLimited = limits?.processes === 'none' ? () => undefined : test;
const whereFiltered = sandbox.found && sandbox.seccomp !== undefined ? test : () => undefined;

const given = async (permissions = '', files: Readonly<Record<string, string>> = {}) => {
  const targets = await agentTargets({
    agent: `import: { tools: ["builtin:shell", "builtin:git"] }\npermissions: { shell: allow, sandbox: require, ${permissions} }`,
    files,
  });
  const sh = (command: string) =>
    targets.call('shell', { command, allow_failure: true, timeout: 50 }) as Promise<{
      exit_code: number;
      stdout: string;
      stderr: string;
    }>;
  return { ...targets, sh };
};

inSandbox('a sandboxed command', () => {
  whereProcessesAreLimited(
    'starts only as many processes as it may, and others can still be started',
    async () => {
      const { sh } = await given('limits: { processes: 40 }');
      const many = await sh('for n in $(seq 200); do sleep 30 & done; wait');
      expect(many.exit_code).not.toBe(0);
      expect(many.stderr).toMatch(/fork/i);
      expect((await sh('echo fine')).stdout).toBe('fine\n');
    },
  );

  whereProcessesAreLimited('that is a fork bomb ends, and the machine goes on', async () => {
    const { sh } = await given('limits: { processes: 60 }');
    const bomb = sh('bomb() { bomb | bomb & }; bomb; sleep 1; echo survived > /dev/null; exit 3');
    expect((await bomb).exit_code).not.toBe(0);
    expect((await sh('echo fine')).stdout).toBe('fine\n');
  });

  test('that takes more memory than it may fails', async () => {
    const { sh } = await given('limits: { memory: 200M }');
    const greedy = `node -e 'const all = []; for (let n = 0; n < 1000; n++) all.push(Buffer.alloc(4 << 20, 1)); console.log("had it all")'`;
    const { exit_code, stdout } = await sh(greedy);
    expect(exit_code).not.toBe(0);
    expect(stdout).not.toContain('had it all');
    expect((await sh(`node -e 'console.log(Buffer.alloc(20 << 20, 1).length)'`)).stdout).toBe('20971520\n');
  });

  test('has limits without a word in the manifest', async () => {
    const { table } = await given();
    expect(table.deps.permissions.limits).toEqual({ processes: 1024, memoryBytes: 4 * 1024 ** 3 });
  });

  whereFiltered('cannot make namespaces, trace processes or mount, and is told EPERM', async () => {
    const { sh } = await given('', { 'calls.c': CALLS });
    if ((await sh('command -v gcc')).exit_code === 0) {
      const { stdout, stderr } = await sh('gcc -o /tmp/calls calls.c && /tmp/calls');
      expect(stdout, stderr).toBe(
        'unshare EPERM\nclone EPERM\nclone3 ENOSYS\nptrace EPERM\nkeyctl EPERM\nbpf EPERM\nio_uring EPERM\nuserfaultfd EPERM\nmount EPERM\nTIOCSTI EPERM\nvsock EAFNOSUPPORT\npersonality EPERM\ninet ok\nthread ok\n',
      );
    }
    for (const line of ['unshare -U true', 'unshare -r true', 'mount -t tmpfs none /mnt'])
      expect((await sh(line)).exit_code, line).not.toBe(0);
    expect((await sh('grep Seccomp: /proc/self/status')).stdout).toMatch(/2/);
  });

  // It only looks: where the sandbox fails, a write would change the machine that runs the test.
  test.each(['["."]', '["/"]'])('cannot change the settings of the kernel, with paths %s', async (paths) => {
    const { sh } = await given(`paths: ${paths}`);
    const mounts = (await sh('cat /proc/self/mounts')).stdout;
    expect(mounts.match(/^\S+ \/proc proc \S+/gm)?.at(-1)).toMatch(/ proc ro,/);
    const settings = "find /proc -not -path '/proc/[0-9]*' -type f -writable 2> /dev/null | head";
    expect((await sh(settings)).stdout).toBe('');
  });

  test('runs the usual programs: node with threads, npm, git, python and a compiler, as far as they are here', async () => {
    const { sh, call } = await given('', {
      'x.c': '#include <stdio.h>\nint main(void) { puts("c"); return 0; }\n',
    });
    expect(
      (await sh(`node -e 'new (require("worker_threads").Worker)("console.log(1)", { eval: true })'`)).stdout,
    ).toBe('1\n');
    await call('git', { operation: 'init' });
    for (const [probe, line] of [
      ['npm', 'npm --version'],
      ['python3', 'python3 -c "import threading; t = threading.Thread(target=print); t.start(); t.join()"'],
      ['gcc', 'gcc -o /tmp/x x.c && /tmp/x'],
    ] as const)
      if ((await sh(`command -v ${probe}`)).exit_code === 0) {
        const { exit_code, stderr } = await sh(line);
        expect(exit_code, `${probe}: ${stderr}`).toBe(0);
      }
  });

  test('leaves no control group behind', async () => {
    const { sh } = await given();
    await sh('true');
    const { readdirSync, existsSync } = await import('node:fs');
    const folders = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup/memory', '/sys/fs/cgroup'].filter((each) =>
      existsSync(each),
    );
    const left = () =>
      folders.flatMap((folder) =>
        readdirSync(folder).filter((name) => name.startsWith(`telltale-${process.pid}-`)),
      );
    await expect.poll(left).toEqual([]);
  });
});

const CALLS = `#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
static void told(const char *what, long result) {
  printf("%s %s\\n", what, result >= 0 ? "ok" : errno == EPERM ? "EPERM" : errno == ENOSYS ? "ENOSYS" : errno == EAFNOSUPPORT ? "EAFNOSUPPORT" : strerror(errno));
}
static void *thread(void *unused) { return unused; }
int main(void) {
  char c = 'x';
  pthread_t t;
  told("unshare", unshare(CLONE_NEWUSER));
  told("clone", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
  told("clone3", syscall(435, 0, 0));
  told("ptrace", ptrace(PTRACE_TRACEME, 0, 0, 0));
  told("keyctl", syscall(SYS_keyctl, 0, 0));
  told("bpf", syscall(SYS_bpf, 0, 0, 0));
  told("io_uring", syscall(425, 1, 0));
  told("userfaultfd", syscall(SYS_userfaultfd, 0));
  told("mount", mount("none", "/mnt", "tmpfs", 0, 0));
  told("TIOCSTI", ioctl(0, 0x5412, &c));
  told("vsock", socket(40, SOCK_STREAM, 0));
  told("personality", personality(0x0040000));
  told("inet", socket(AF_INET, SOCK_STREAM, 0));
  told("thread", -pthread_create(&t, 0, thread, 0));
  pthread_join(t, 0);
  return 0;
}
`;

test('the filter of system calls knows the machines that bubblewrap runs on', () => {
  for (const each of ['x64', 'arm64']) {
    const program = seccompFilter(each);
    expect(program?.length ?? 1, each).toSatisfy((length: number) => length % 8 === 0 && length < 4096 * 8);
  }
  expect(seccompFilter('mips')).toBeUndefined();
});

/** Runs the program as the kernel would. */
function decision(program: Uint8Array, audit: number, number: number, first = 0, second = 0): string {
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength);
  const data = new DataView(new ArrayBuffer(64));
  data.setInt32(0, number, true);
  data.setUint32(4, audit, true);
  data.setUint32(16, first, true);
  data.setUint32(24, second, true);
  let loaded = 0;
  for (let at = 0; ; at++) {
    const code = view.getUint16(at * 8, true);
    const value = view.getUint32(at * 8 + 4, true);
    if (code === 0x20) loaded = data.getUint32(value, true);
    else if (code === 0x06)
      return value === 0x7fff0000 ? 'allowed' : value === 0x80000000 ? 'killed' : `errno ${value & 0xffff}`;
    else {
      const holds =
        code === 0x15 ? loaded === value : code === 0x35 ? loaded >= value : (loaded & value) !== 0;
      at += view.getUint8(at * 8 + (holds ? 2 : 3));
    }
  }
}

test.each([
  ['x64', 0xc000003e, { clone: 56, mount: 165, ptrace: 101, read: 0, ioctl: 16, socket: 41 }],
  ['arm64', 0xc00000b7, { clone: 220, mount: 40, ptrace: 117, read: 63, ioctl: 29, socket: 198 }],
] as const)('the filter for %s decides by call and arguments', (each, audit, calls) => {
  const program = seccompFilter(each) as Uint8Array;
  const judged = (number: number, first?: number, second?: number) =>
    decision(program, audit, number, first, second);
  expect([judged(calls.mount), judged(calls.ptrace), judged(425), judged(435)]).toEqual([
    'errno 1',
    'errno 1',
    'errno 1',
    'errno 38',
  ]);
  expect([judged(calls.read), judged(calls.clone, 0x11), judged(calls.socket, 2)]).toEqual(
    Array(3).fill('allowed'),
  );
  for (const bit of [0x20000, 0x02000000, 0x10000000, 0x20000000, 0x40000000])
    expect(judged(calls.clone, bit | 17)).toBe('errno 1');
  expect([
    judged(calls.ioctl, 0, 0x5412),
    judged(calls.ioctl, 0, 0x541c),
    judged(calls.ioctl, 0, 0x5413),
  ]).toEqual(['errno 1', 'errno 1', 'allowed']);
  expect(judged(calls.socket, 40)).toBe('errno 97');
  expect(decision(program, 0x40000003, calls.read)).toBe('killed');
  expect(each === 'x64' ? judged(0x40000000 | calls.read) : 'killed').toBe('killed');
});

test('this machine is one of those, or has no filter', () => {
  if (sandbox.found && sandbox.seccomp !== undefined) expect(['x64', 'arm64']).toContain(arch());
});
