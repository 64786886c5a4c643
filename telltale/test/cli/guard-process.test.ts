import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { groupsOf, isOwnStop, strayError } from '../../src/cli/guard-process.ts';
import { RuntimeError, stopWith } from '../../src/lib/errors.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { spawned } from './spawned.ts';

const start = new URL('../../src/cli/start.ts', import.meta.url).href;
const POLL_MS = 20;

/** A project whose agent calls one tool, made of the given implementation and module. */
const withTool = (implementation: string, module = '', more = '') =>
  temporaryProject({
    'agent.yml': `kind: Agent\nname: a\nmodel: scripted:./turns.yml\nimport: { tools: [./tool.yml] }\n${more}`,
    'tool.yml': `kind: Tool\nname: t\nparameters: { type: object }\nimplementation: ${implementation}\n`,
    'tool.mjs': module,
    'turns.yml':
      'turns:\n  - \'<action id="x" mode="sync">{"name":"t"}</action>\'\n  - <response>Done</response>\n',
  });

const module = '{ module: ./tool.mjs }';
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('what nobody caught', () => {
  const abortError = (cause: unknown) =>
    Object.assign(new Error('aborted', { cause }), { name: 'AbortError' });

  const stopReason = (code: string) => {
    const reason = new RuntimeError(code, 'It was stopped.');
    stopWith(new AbortController(), reason);
    return reason;
  };

  it('is the answer to a stop where it is the very reason of one, or was caused by it, whatever it says', () => {
    for (const code of ['timeout', 'cancelled', 'engine_closed']) {
      const reason = stopReason(code);
      const stopped = new RuntimeError('cancelled', 'The call was stopped.', { cause: abortError(reason) });
      for (const thrown of [reason, abortError(reason), stopped]) expect(isOwnStop(thrown)).toBe(true);
      expect(isOwnStop(new Error('x', { cause: reason }))).toBe(false);
    }
  });

  it('is an error like any other where nothing was stopped with it, whatever it says', () => {
    const [late, done] = [
      new RuntimeError('timeout', 'It took too long.'),
      new RuntimeError('cancelled', 'No.'),
    ];
    const others = [
      late,
      done,
      abortError(late),
      abortError(done),
      abortError(undefined),
      'timeout',
      undefined,
    ];
    for (const thrown of others) expect(isOwnStop(thrown)).toBe(false);
    const aborted = new AbortController();
    stopWith(aborted, stopReason('cancelled'));
    stopWith(aborted, late); // too late to be the reason of anything
    expect(isOwnStop(late)).toBe(false);
    const circle = new RuntimeError('timeout', 'x');
    circle.cause = circle;
    expect(isOwnStop(circle)).toBe(false);
  });

  it('is no answer to a stop, and is told, where it throws when it is looked at', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const unreadable = Object.defineProperty(new Error('x'), 'message', {
      get() {
        throw proxy;
      },
    });
    for (const thrown of [proxy, abortError(proxy), unreadable, Object.create(null)]) {
      expect(isOwnStop(thrown)).toBe(false);
      expect(strayError(thrown)).toMatchObject({
        code: 'stray_error',
        message: expect.stringContaining('An error was not caught'),
      });
    }
  });
});

describe('a process that runs the code of tools', { timeout: 30_000 }, () => {
  it('does not end well when a tool ends it', async () => {
    const cwd = withTool(module, 'export const run = () => process.exit(0);');
    const { code, err } = await spawned(['run', 'agent.yml', 'go'], cwd).ended;
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/^error: A tool ended the process .*\n {2}→ .*process\.exit/),
    });
  });

  it('stops in order, and says where, when a tool throws behind its own back', async () => {
    const cwd = withTool(
      module,
      'export async function run(_, { signal }) {\n  Promise.reject(new Error("nobody waits"));\n  await new Promise((resolve) => signal.addEventListener("abort", resolve));\n}',
    );
    const { code, out, err } = await spawned(['run', 'agent.yml', 'go', '--json'], cwd).ended;
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ status: 'interrupted' });
    expect(err).toMatch(/An error was not caught \(thrown at .*tool\.mjs:2:18\): nobody waits\n/);
    expect(err).not.toContain('    at ');
  });

  it('goes on when what it stopped says so behind the back of its tool', async () => {
    const cwd = withTool(
      `${module}\ntimeout: 100ms`,
      `import { spawn } from 'node:child_process';
export const run = (_, { signal }) =>
  new Promise((resolve) => spawn('sleep', ['60'], { signal }).on('exit', resolve));`,
    );
    const { code, out, err } = await spawned(['run', 'agent.yml', 'go'], cwd).ended;
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('timeout: Action "x" (t) took longer than');
    expect(out).toContain('response          Done');
  });

  it.each(['timeout', 'cancelled'])(
    'stops where a tool has thrown a %s of its own behind its back',
    async (code) => {
      const telltale = new URL('../../src/index.ts', import.meta.url).href;
      const cwd = withTool(
        module,
        `import { RuntimeError } from ${JSON.stringify(telltale)};
export async function run(_, { signal }) {
  Promise.reject(new RuntimeError('${code}', 'The database took too long.'));
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
}`,
      );
      const { code: exit, err } = await spawned(['run', 'agent.yml', 'go'], cwd).ended;
      expect(exit).toBe(1);
      expect(err).toMatch(/thrown at .*tool\.mjs:3:18\): The database took too long\.\n/);
    },
  );

  it.each([
    ['a timer', 'setTimeout(() => signal.throwIfAborted(), 150)'],
    ['a promise', 'sleep(60_000, undefined, { signal })'],
    ['a request', 'fetch("http://127.0.0.1:9/", { signal: AbortSignal.any([signal]) })'],
  ])('goes on when %s that nobody waits for says that its call was stopped', async (_, left) => {
    const cwd = withTool(
      `${module}\ntimeout: 100ms`,
      `import { setTimeout as sleep } from 'node:timers/promises';
const fetch = (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
export const run = (_, { signal }) => {
  ${left};
  return new Promise((resolve) => setTimeout(resolve, 300));
};`,
    );
    const { code, out, err } = await spawned(['run', 'agent.yml', 'go'], cwd).ended;
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('response          Done');
  });

  it('is not kept by what a tool leaves open', async () => {
    const cwd = withTool(module, 'export const run = () => void setInterval(() => {}, 1000);');
    expect(await spawned(['run', 'agent.yml', 'go'], cwd).ended).toMatchObject({ code: 0 });
  });

  it('keeps its stdout for itself: what a tool logs goes to stderr', async () => {
    const cwd = withTool(module, 'export const run = () => console.log("from the tool");');
    const { out, err } = await spawned(['run', 'agent.yml', 'go', '--json'], cwd).ended;
    expect(JSON.parse(out)).toMatchObject({ status: 'completed' });
    expect(err).toBe('from the tool\n');
  });

  it('takes the programs it started with it at the second Ctrl-C, and says that one can go on', async () => {
    const cwd = withTool(
      '{ command: [sh, -c, "trap \'\' TERM; echo pid=$$; sleep 60 & wait; sleep 60"] }\nstream: true',
      '',
      'permissions: { sandbox: off }\n', // in it a pid is another one
    );
    const argv = ['run', 'agent.yml', 'go', '--events', '--store', 'b.db'];
    const { child, says, out, ended } = spawned(argv, cwd);
    await says('pid=');
    const pid = Number(/pid=(\d+)/.exec(out())?.[1]);
    expect(isAlive(pid)).toBe(true);
    child.kill('SIGINT');
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({
      code: 130,
      err: expect.stringContaining(
        'To list your sessions: telltale sessions --store b.db\nTo continue the newest one: telltale resume last --store b.db\n',
      ),
    });
    while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  });

  it('lets go of the session in order when its terminal is closed', async () => {
    const cwd = withTool('{ command: [sh, -c, "echo pid=$$; sleep 60"] }\nstream: true');
    const { child, says, ended } = spawned(['run', 'agent.yml', 'go', '--events'], cwd);
    await says('pid=');
    child.kill('SIGHUP');
    expect(await ended).toMatchObject({ code: 130 });
  });

  it('says so when the folder it stands in is gone', async () => {
    const gone = mkdtempSync(join(tmpdir(), 'telltale-gone-'));
    const script = `process.chdir(${JSON.stringify(gone)});
      (await import('node:fs')).rmdirSync(${JSON.stringify(gone)});
      process.exit(await (await import(${JSON.stringify(start)})).start(['sessions']));`;
    const ended = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    await expect(ended).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: The current folder no longer exists/),
    });
  });
});

describe('what is found for it', () => {
  it('is the children that lead a group, and no others', () => {
    expect(groupsOf(10, ' 10  1 10\n 11 10 11\n 12 10 10\n 13 11 11\n110 10 110\n')).toEqual([11, 110]);
  });

  it('is the place of an error, if its stack trace names a file', () => {
    expect(strayError(Object.assign(new Error('x'), { stack: 'Error: x' })).message).toBe(
      'An error was not caught: x',
    );
    expect(strayError('a text').message).toBe('An error was not caught: a text');
  });
});
