import { readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { spawned, telltale } from './spawned.ts';

const AGENT = `kind: Agent
name: worker
model: scripted:./turns.yml
import:
  tools: [./tools.yml]
permissions: { shell: allow, sandbox: "off" }
metadata:
  fields:
    status: { type: enum, values: [IDLE, CODING], default: IDLE }
`;
/**
 * `note` writes a line, so that a test sees how often it ran; a gate waits until a test opens it, a minute at most: one
 * whose process was killed may outlive the test.
 */
const TOOLS = `kind: Tool
name: note
implementation: { command: [sh, -c, "echo ran >> notes.txt; printf '\\\\033[31mnoted\\\\033[0m'"] }
---
kind: Tool
name: gate1
implementation: { command: [sh, -c, "n=0; while [ ! -e open1 ] && [ $n -lt 1200 ]; do n=$((n+1)); sleep 0.05; done"] }
---
kind: Tool
name: gate2
implementation: { command: [sh, -c, "n=0; while [ ! -e open2 ] && [ $n -lt 1200 ]; do n=$((n+1)); sleep 0.05; done"] }
`;
const QUICK = `turns:
  - |
    <thought>I make a note.</thought>
    <action id="a1">{"name": "note"}</action>
    <metadata>{"status": "CODING"}</metadata>
    <response final="true">It was $a1.</response>
`;
/** Makes a note, then stands before two gates: time for somebody to step in. */
const GATED = `turns:
  - |
    <action id="a1">{"name": "note"}</action>
    <action id="g1">{"name": "gate1", "depends_on": ["a1"]}</action>
    <action id="g2">{"name": "gate2"}</action>
    <response final="true">First answer.</response>
  - |
    <response final="true">Second answer.</response>
`;
/** The same, and the turn that hears a word stands before a gate, too. */
const HEARING = `${GATED.slice(0, GATED.lastIndexOf('  - |'))}  - |
    <action id="g3">{"name": "gate2"}</action>
    <response final="false">I will be brief.</response>
`;
const project = (turns: string, agent = AGENT) =>
  temporaryProject({ 'agent.yml': agent, 'tools.yml': TOOLS, 'turns.yml': turns });
const open = (cwd: string, gate: 1 | 2) => writeFileSync(join(cwd, `open${gate}`), '');
const notes = (cwd: string) => readFileSync(join(cwd, 'notes.txt'), 'utf8').trimEnd().split('\n').length;
const RUN = ['run', 'agent.yml', 'Go'];
const json = async (argv: readonly string[], cwd: string) =>
  JSON.parse((await telltale([...argv, '--json'], cwd)).out);

describe('a session, over real processes', { timeout: 60_000 }, () => {
  it('runs, and can be listed, shown, explained, replayed and read', async () => {
    const cwd = project(QUICK);
    const run = await telltale(RUN, cwd);
    expect(run).toMatchObject({ code: 0, err: '' });
    expect(run.out).toContain('action.completed  a1 note in ');
    expect(run.out).toContain('response          It was noted.');
    const [listed] = await json(['sessions'], cwd);
    expect(listed).toMatchObject({ agent: 'worker', status: 'completed', title: 'Go', pid: null });
    expect(await json(['show', 'last'], cwd)).toMatchObject({ metadata: { status: 'CODING' }, turns: 1 });
    const events = (await telltale(['logs', 'last', '--json'], cwd)).out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    const ran = events.find(({ type }) => type === 'action.completed');
    const chain = await json(['why', 'last', String(ran.seq)], cwd);
    expect(chain.map(({ type }: { type: string }) => type)).toEqual([
      'action.completed',
      'action.started',
      'action.declared',
      'turn.started',
      'session.started',
    ]);
    expect((await telltale(['replay', 'last'], cwd)).out).toContain(
      `event ${events.length} of ${events.length}`,
    );
  });

  it('prints every event as JSON, and ends with the session’s end', async () => {
    const { code, out, err } = await telltale([...RUN, '--events'], project(QUICK));
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const events = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.some(({ type }) => type === 'thought.delta')).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: 'session.completed' });
  });

  it('ends with 1 when it fails, with 2 on a bad manifest, with 3 when it stalls', async () => {
    const idle = `turns:\n${'  - "<thought>Hm.</thought>"\n'.repeat(5)}`;
    const [failed, bad, stalled] = await Promise.all([
      telltale(
        RUN,
        project('turns: [<response final="false">Not yet.</response>, x]', `${AGENT}limits: { turns: 1 }\n`),
      ),
      telltale(['run', 'agnet.yml', 'Go'], project(QUICK)),
      telltale(RUN, project(idle)),
    ]);
    expect(failed).toMatchObject({ code: 1, err: expect.stringContaining('limit_turns') });
    expect(bad).toMatchObject({ code: 2, err: expect.stringContaining('→ Did you mean "agent.yml"?') });
    expect(stalled).toMatchObject({ code: 3, err: expect.stringContaining('stalled: ') });
  });

  it('lets go at Ctrl-C, and goes on from there without doing anything twice', async () => {
    const cwd = project(GATED);
    const run = spawned(RUN, cwd);
    await run.says('action.completed');
    const follower = spawned(['logs', 'last', '-f'], cwd);
    await follower.says('action.completed');
    run.child.kill('SIGINT');
    const { code, err } = await run.ended;
    expect(code).toBe(130);
    expect(err).toMatch(/^interrupted in turn \d while running: .*g2 gate2/m);
    const [, id = ''] = /^Resume with: telltale resume (\S+)$/m.exec(err) ?? [];
    expect(await json(['sessions', '--status', 'interrupted'], cwd)).toMatchObject([{ session: id }]);
    await expect
      .poll(follower.err, { timeout: 10_000 })
      .toBe(`No process works on ${id} now. To continue: telltale resume ${id}\n`);
    const resumed = await telltale(['resume', id], cwd);
    expect(resumed).toMatchObject({ code: 0, err: '' });
    expect(resumed.out).toContain('response          Second answer.');
    expect(resumed.out).not.toContain('a1 note');
    expect(notes(cwd)).toBe(1);
    expect((await follower.ended).out).toContain('session.completed');
    expect(await telltale(['resume', id], cwd)).toMatchObject({
      code: 1,
      err: expect.stringContaining('has completed, so there is nothing to resume'),
    });
  });

  it('is killed with kill -9, and goes on with --resume without doing anything twice', async () => {
    const cwd = project(GATED);
    const run = spawned(RUN, cwd);
    await run.says('action.completed');
    run.child.kill('SIGKILL');
    await run.ended;
    const before = (await telltale(['logs', 'last', '--json'], cwd)).out;
    const resumed = await telltale(['run', 'agent.yml', '--resume', 'last'], cwd);
    expect(resumed).toMatchObject({ code: 0, err: '' });
    expect(resumed.out).toContain('action.interrupted');
    expect(resumed.out).toContain('response          Second answer.');
    expect(notes(cwd)).toBe(1);
    expect((await telltale(['logs', 'last', '--json'], cwd)).out.startsWith(before)).toBe(true);
    open(cwd, 1); // the programs that the kill left behind
    open(cwd, 2);
  });

  it('hears what others say, and ends when they want it to, while somebody follows it', async () => {
    const cwd = project(HEARING);
    const run = spawned(RUN, cwd);
    await run.says('action.completed');
    const follower = spawned(['logs', 'last', '-f'], cwd);
    await follower.says('action.completed');
    const delivered = `Delivered to process ${run.child.pid}`;
    expect((await telltale(['steer', 'last', 'Be brief'], cwd)).out).toContain(delivered);
    await run.says('message.received  from steer: Be brief');
    expect(await telltale(['resume', 'last'], cwd)).toMatchObject({
      code: 1,
      err: expect.stringContaining(String(run.child.pid)),
    });
    const refused = await telltale(
      [...RUN.slice(0, 2), 'Said by a command that was refused', '--resume', 'last'],
      cwd,
    );
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(String(run.child.pid)) });
    expect((await telltale(['cancel', 'last', '--reason', 'enough'], cwd)).out).toContain(delivered);
    expect((await run.ended).code).toBe(1);
    expect(run.out()).not.toContain('Said by a command');
    expect(run.out()).toContain(`session.cancelled by ${userInfo().username}: enough`);
    const followed = await follower.ended;
    expect(followed).toMatchObject({ code: 0, err: '' });
    expect(followed.out.trimEnd().split('\n').at(-1)).toContain('session.cancelled');
    expect((await telltale(['cancel', 'last'], cwd)).out).toContain('has already ended (cancelled)');
  });

  it('can be branched off from any event, and gone on with', async () => {
    const cwd = project(QUICK);
    expect((await telltale(RUN, cwd)).code).toBe(0);
    const first = await json(['show', 'last'], cwd);
    const { session } = await json(['fork', 'last', '2'], cwd);
    expect(await telltale(['resume', session, '--quiet'], cwd)).toMatchObject({
      code: 0,
      out: 'It was \u001b[31mnoted\u001b[0m.\n',
    });
    expect(notes(cwd)).toBe(2);
    expect(await json(['show', first.session], cwd)).toEqual(first);
  });

  it('ends quietly when its reader goes away, and is then cancelled by whoever wants it to be', async () => {
    const cwd = project(GATED);
    const run = spawned(RUN, cwd);
    await run.says('action.completed');
    run.child.stdout?.destroy();
    open(cwd, 1);
    expect(await run.ended).toMatchObject({ code: 130, err: '' });
    expect(await json(['cancel', 'last'], cwd)).toMatchObject({ outcome: 'cancelled', pid: null });
    const state = await json(['show', 'last'], cwd);
    expect(state.status).toBe('cancelled');
    expect(state.actions.map(({ status }: { status: string }) => status)).toEqual([
      'completed',
      'completed',
      'cancelled',
    ]);
  });
});
