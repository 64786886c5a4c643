import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { streamOutput } from '../../src/cli/process-io.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';
import { telltale } from './spawned.ts';

const FILES = {
  'agent.yml': `kind: Agent
name: a
model: scripted:./turns.yml
import: { tools: [./hold.yml], workflows: [./flow.yml] }
`,
  'hold.yml': 'kind: Tool\nname: hold\nidempotent: true\nimplementation: { module: ./hold.mjs }\n',
  // It ends when it is stopped, or where there is a file "quick": however busy the machine, not before.
  'hold.mjs': `import { existsSync } from 'node:fs';
export async function run(_, { signal }) {
  if (existsSync(new URL('./quick', import.meta.url))) return 'held';
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
}
`,
  'flow.yml': 'kind: Workflow\nname: flow\nsteps: [{ name: hold, type: tool, target: hold }]\n',
  'turns.yml':
    'turns:\n  - \'<action id="x" mode="sync">{"name":"hold"}</action>\'\n  - <response>Done</response>\n',
};

const QUICK_FILES = { ...FILES, quick: '' };
const quicken = (cwd: string) => writeFileSync(join(cwd, 'quick'), '');

/** A disk with room for so many writes. */
const full = (room = 0) => {
  let left = room;
  return new Writable({
    write: (_chunk, _encoding, done) =>
      done(left-- > 0 ? null : Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })),
    autoDestroy: false, // as that of a process
  });
};

/** A command whose standard output is on a disk that is full. */
async function unread(argv: readonly string[], cwd: string, stdin = '', room = 0) {
  const io = recordedIo({ cwd, env: { PATH: process.env.PATH ?? '' }, stdin });
  const code = await main(argv, { ...io, stdout: streamOutput(full(room), {}), clock: createSystemClock() });
  return { code, err: io.err() };
}

/** The command behind the given words, as somebody would paste it. */
const behind = (words: string, err: string) =>
  new RegExp(`${words}: telltale (.*)\\n$`).exec(err)?.[1]?.split(' ') ?? [];

describe('where the output cannot be written', { timeout: 30_000 }, () => {
  it.each([[[]], [['--events']]])('run %j lets go of the session and says how to go on', async (mode) => {
    const cwd = temporaryProject(FILES);
    const { code, err } = await unread(['run', 'agent.yml', 'go', '--store', 'b.db', ...mode], cwd);
    expect(code).toBe(1);
    expect(err).toMatch(/^error: The output cannot be written \(ENOSPC\)\.\n/);
    expect(err).toContain('The disk is full: free some space, or send the output elsewhere.');
    expect(err).toContain('The session was released, and its log is complete.');
    const resume = behind('Resume with', err);
    expect(resume).toEqual(['resume', expect.stringMatching(/^ses_/), '--store', 'b.db']);
    quicken(cwd);
    expect(await telltale([...resume, '--quiet'], cwd)).toMatchObject({ code: 0, out: 'Done\n' });
  });

  it.each([['--quiet'], ['--json']])(
    'run %s says that the session has ended, and where it is',
    async (mode) => {
      const cwd = temporaryProject(QUICK_FILES);
      const { code, err } = await unread(['run', 'agent.yml', 'go', '--store', 'b.db', mode], cwd);
      expect(code).toBe(1);
      expect(err).toContain('The session has ended (completed), and its log is complete.');
      expect((await telltale(behind('See it with', err), cwd)).out).toContain('Done');
    },
  );

  it('a conversation is gone on with as one', async () => {
    const cwd = temporaryProject(FILES);
    const { code, err } = await unread(['chat', 'agent.yml', '--store', 'b.db'], cwd, 'go\n');
    expect(code).toBe(1);
    expect(behind('Resume with', err).slice(0, 3)).toEqual(['chat', 'agent.yml', '--resume']);
  });

  it('the demo says how to go on with its session, once it has begun', async () => {
    const cwd = temporaryProject({});
    const { code, err } = await unread(['demo', '--dir', 'work'], cwd, '', 2);
    expect(code).toBe(1);
    expect(err).toContain('The session was released, and its log is complete.');
    const resume = behind('Resume with', err);
    expect(resume.slice(0, 3)).toEqual(['resume', expect.stringMatching(/^ses_/), '--store']);
    expect(await telltale([...resume, '--quiet'], cwd)).toMatchObject({ code: 0 });
    expect((await unread(['demo', '--dir', 'other'], cwd)).err).not.toContain('session');
    const { err: quiet } = await unread(['demo', '--dir', 'quiet', '--json'], cwd);
    expect(quiet).toContain('The session has ended (completed), and its log is complete.');
    expect((await telltale(behind('See it with', quiet), cwd)).code).toBe(0);
  });

  it('a workflow run says so of itself', async () => {
    const cwd = temporaryProject(FILES);
    const argv = ['workflow', 'run', 'agent.yml', 'flow', '--store', 'b.db'];
    const { code, err } = await unread(argv, cwd);
    expect(code).toBe(1);
    const resume = behind('Resume with', err);
    expect(resume.slice(0, 2)).toEqual(['workflow', 'resume']);
    quicken(cwd);
    expect(await telltale(resume, cwd)).toMatchObject({ code: 0 });
  });

  it('nothing is promised of a store that was in memory', async () => {
    const { err } = await unread(['run', 'agent.yml', 'go', '--store', 'memory'], temporaryProject(FILES));
    expect(err).toContain('its store was in memory, so it is lost');
    expect(err).not.toContain('resume');
  });

  it('a command that was asked for JSON fails, and says so on stderr', async () => {
    const cwd = temporaryProject(FILES);
    expect(await unread(['validate', 'agent.yml', '--json'], cwd)).toEqual({
      code: 1,
      err: expect.stringContaining('The output cannot be written (ENOSPC).'),
    });
    expect(await unread(['show', 'last', '--json'], cwd)).toEqual({
      code: 1,
      err: expect.stringContaining('There is no store at'),
    });
  });

  it('what is told on stderr is dropped, and the work goes on', async () => {
    const cwd = temporaryProject(QUICK_FILES);
    const stderr = streamOutput(full(), {}, { mayFail: true });
    const io = { ...recordedIo({ cwd, env: {} }), stderr, clock: createSystemClock() };
    expect(await main(['run', 'agent.yml', 'go', '--quiet'], io)).toBe(0);
    expect(await main(['show', 'nobody'], io)).toBe(1);
    expect(stderr.failure?.message).toContain('ENOSPC');
  });
});
