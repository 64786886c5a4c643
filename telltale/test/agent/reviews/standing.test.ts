import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import type { RuntimeOptions } from '../../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import type { EventOf } from '../../../src/log/event.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { temporaryProject } from '../../manifest/temporary-project.ts';
import { tool } from '../run-agent.ts';

const call = (name: string, parameters: object, id: string) =>
  `<action id="${id}">${JSON.stringify({ name, parameters })}</action>`;
const DONE = '<response>Done.</response>';

/** A tool of the agent's that changes what a command runs. */
const REWRITE =
  'const { writeFile } = await import("node:fs/promises"); await writeFile(`${import.meta.dirname}/../build.sh`, "echo other\\n"); return "done";';

const inFolder = (folder: string, files: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]));

/** An agent with these permissions, and runtimes on one store, one after the other. */
async function scene(turns: readonly string[], permissions = 'sandbox: "off"') {
  const cwd = temporaryProject({
    'p/agent.yml': `kind: Agent\nname: worker\nmodel: scripted:test\nimport: { tools: ["./tools/*.yml", "builtin:shell", "builtin:filesystem"] }\npermissions: { ${permissions} }\n`,
    'shared/a.txt': 'a',
    'p/build.sh': 'echo built\n',
    ...inFolder('p', tool('deploy', 'return "deployed";', 'approval: always\n')),
    ...inFolder('p', tool('rewrite', REWRITE)),
  });
  const store = createMemoryStore({ clock: createSystemClock() });
  const folder = join(cwd, 'p');
  const model = createScriptedModel({ id: 'scripted:test', turns, clock: createSystemClock() });
  const agent = () => loadAgent('agent.yml', { cwd: folder });
  const open = async (options: RuntimeOptions = {}) => {
    const runtime = await createRuntime({ store, cwd: folder, env: { PATH: process.env.PATH }, ...options });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  /** Runs it with a person who says "always" where that is offered, and counts how often they are asked. */
  const run = async (always = true) => {
    const asked: (string | undefined)[] = [];
    const runtime = await open({
      approve: async (question) => {
        asked.push(question.always);
        return { approved: true, always, by: 'ann' };
      },
    });
    const { status } = await runtime.start(await agent(), { input: 'Go.', model, id: 'ses_a' }).result;
    const events = await runtime.events('ses_a');
    return { status, asked, events, runtime };
  };
  return { model, agent, open, run };
}

const answers = (events: readonly { readonly type: string }[]) =>
  events.filter((event): event is EventOf<'review.resolved'> => event.type === 'review.resolved');

const DEPLOYS = [
  call('deploy', { to: 'prod' }, 'a'),
  call('deploy', { to: 'test' }, 'b'),
  call('deploy', { to: 'prod' }, 'c'),
  DONE,
];

describe('an approval for the rest of the session', () => {
  it('covers every later call of that tool, and each is on the log with who approved it and when', async () => {
    const { run } = await scene(DEPLOYS);
    const { status, asked, events } = await run();
    expect({ status, asked }).toEqual({
      status: 'completed',
      asked: ['every call of tool "deploy", whatever its parameters'],
    });
    const [first, second, third] = answers(events);
    expect(first).toMatchObject({ answer: 'approved', by: 'ann', always: true });
    for (const later of [second, third])
      expect(later).toMatchObject({ answer: 'approved', by: 'ann', standing: first?.review });
    expect(events.filter(({ type }) => type === 'action.completed')).toHaveLength(3);
  });

  it('answers what was asked beside it, too', async () => {
    const { open, agent, model } = await scene([DEPLOYS.slice(0, 2).join(''), DONE]);
    const runtime = await open({ onWaiting: 'hold' });
    const session = runtime.start(await agent(), { input: 'Go.', model, id: 'ses_a' });
    await expect.poll(() => runtime.reviews(), { interval: 5 }).toHaveLength(2);
    const [review] = await runtime.reviews();
    await runtime.answer(review?.review ?? '', { approved: true, always: true, by: 'ann' });
    expect((await session.result).status).toBe('completed');
  });

  it('is no more than one approval where the person says only yes', async () => {
    const { run } = await scene(DEPLOYS);
    expect((await run(false)).asked).toHaveLength(3);
  });

  it('counts after a restart, and not in a session that is forked from this one', async () => {
    const { open, agent, model } = await scene(DEPLOYS);
    const first = await open();
    expect(await first.start(await agent(), { input: 'Go.', model, id: 'ses_a' }).result).toMatchObject({
      status: 'waiting',
    });
    const [review] = await first.reviews();
    expect(review?.always).toBe('every call of tool "deploy", whatever its parameters');
    await first.answer(review?.review ?? '', { approved: true, always: true, by: 'ann' });
    await first.close();

    const second = await open();
    const session = await second.resume('ses_a', { agent: await agent(), model });
    expect((await session.result).status).toBe('completed');
    const log = await second.events('ses_a');
    expect(answers(log).map(({ standing }) => standing)).toEqual([undefined, review?.review, review?.review]);
    const seq = log.find(({ type }) => type === 'action.completed')?.seq ?? 0;
    await second.fork('ses_a', seq, { id: 'ses_b' });
    const forked = await second.resume('ses_b', { agent: await agent(), model });
    expect((await forked.result).status).toBe('waiting');
  });

  it('of a command is for exactly this call, and ends where a file that it names changes', async () => {
    const shell = (command: string, id: string, more = {}) => call('shell', { command, ...more }, id);
    const { run } = await scene(
      [
        shell('sh build.sh', 'a'),
        shell('sh build.sh', 'b'),
        shell('sh build.sh', 'c', { allow_failure: true }),
        call('rewrite', {}, 'd'),
        shell('sh build.sh', 'e'),
        DONE,
      ],
      'shell: ask, sandbox: "off"',
    );
    const { asked, events } = await run();
    expect(asked).toEqual([
      'this exact call, as long as the files that it names do not change',
      expect.anything(), // other parameters
      expect.anything(), // another build.sh
    ]);
    expect(answers(events)[1]?.standing).toBe(answers(events)[0]?.review);
  });

  it('of a path is for the operation that was asked about', async () => {
    const file = (operation: string, id: string, more = {}) =>
      call('filesystem', { operation, path: '../shared/a.txt', ...more }, id);
    const { run } = await scene(
      [file('read', 'a'), file('read', 'b'), file('write', 'c', { content: 'b' }), DONE],
      'paths: { ask: [../shared] }',
    );
    const { asked } = await run();
    expect(asked).toEqual([
      expect.stringMatching(/^read ".*a\.txt" by tool "filesystem", every time$/),
      expect.stringMatching(/^write ".*a\.txt" by tool "filesystem", every time$/),
    ]);
  });

  it.each([
    ['where approvals are strict', 'shell: ask, approval: strict, sandbox: "off"', 'sh build.sh'],
    ['where other files may run than those that are known', 'shell: ask, sandbox: "off"', 'sh -c "$X"'],
  ])('is not offered %s', async (_where, permissions, command) => {
    const turns = [call('shell', { command }, 'a'), call('shell', { command }, 'b'), DONE];
    const { run } = await scene(turns, permissions);
    expect((await run()).asked).toEqual([undefined, undefined]);
  });

  it('is refused for a manifest, and where the answer is no', async () => {
    const content = 'kind: Tool\nname: other\nscript: "1"\n';
    const write = call('filesystem', { operation: 'write', path: 'crew/other.yml', content }, 'a');
    const manifests = await (await scene([write, DONE], 'manifests: [crew]')).run();
    expect(manifests.asked).toEqual([undefined]);

    const { open, agent, model } = await scene(DEPLOYS);
    const runtime = await open();
    await runtime.start(await agent(), { input: 'Go.', model, id: 'ses_a' }).result;
    const [review] = await runtime.reviews();
    const no = runtime.answer(review?.review ?? '', { approved: false, always: true });
    await expect(no).rejects.toMatchObject({ code: 'bad_option' });
  });
});
