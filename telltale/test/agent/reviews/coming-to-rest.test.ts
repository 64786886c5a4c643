import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { defineAgent } from '../../../src/agent/define/define-agent.ts';
import { defineTool } from '../../../src/agent/define/definitions.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { scripted } from '../../../src/testing/scripted.ts';
import { action } from '../../recovery/say.ts';
import { createStage, type Stage, type StageOptions, seen } from '../../recovery/stage.ts';
import { agentFolder, runAgent, tool } from '../run-agent.ts';

let stage: Stage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

async function staged(options: StageOptions): Promise<Stage> {
  stage = await createStage({ manifest: 'permissions: { sandbox: "off" }\n', ...options });
  return stage;
}

const ASKED = { quick: 'approval: always' };
const DONE = '<response>Done.</response>';

it('a session that has waited for the first of its actions is let go of when only the one is left that a person decides on', async () => {
  const { start, open } = await staged({
    tools: { short: '', long: '', ...ASKED },
    turns: [`${action('a', 'short')}${action('b', 'long')}${action('r', 'quick')}`, DONE],
  });
  const session = start();
  await seen(session, 'turn.completed', 1);
  open('short');
  await seen(session, 'action.completed', 1);
  open('long');
  expect(await session.result).toMatchObject({ status: 'waiting', reviews: [{ action: 'r' }] });
});

const write = (id: string, path: string, more = {}) =>
  action(id, 'filesystem', { parameters: { operation: 'write', path, content: id }, ...more });

it('a session that is resumed does what was approved before it waits for the rest', async () => {
  const folder = agentFolder(
    'import: { tools: [builtin:filesystem] }\npermissions: { paths: { allow: ["."], ask: [a.txt, b.txt] } }\n',
  );
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const runtime = await createRuntime({ store: 'memory', cwd: folder });
  onTestFinished(() => runtime.close());
  const model = scripted([`${write('a', 'a.txt')}${write('b', 'b.txt')}${DONE}`]);
  const { session, reviews = [] } = await runtime.start(agent, { input: 'Go.', model }).result;
  const of = (id: string) => reviews.find((each) => each.action === id)?.review ?? '';
  await runtime.answer(of('b'), { approved: true, by: 'ann' });
  const resumed = await runtime.resume(session, { agent, model });
  expect(await resumed.result).toMatchObject({ status: 'waiting', reviews: [{ action: 'a' }] });
  expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('b');
  expect((await runtime.events(session)).at(-1)).toMatchObject({
    type: 'session.waiting',
    for: `review ${of('a')}`,
  });
});

it('what nobody has to be asked about is done before a session is let go of, though it begins when another waits', async () => {
  const go = join(mkdtempSync(join(tmpdir(), 'telltale-rest-')), 'go');
  const { result, folder } = await runAgent({
    manifest:
      'import: { tools: [./tools/*.yml, builtin:filesystem] }\npermissions: { paths: { allow: ["."], ask: [a.txt] } }\n',
    files: tool(
      'slow',
      `const { existsSync } = await import('node:fs');
while (!existsSync(${JSON.stringify(go)})) await new Promise((resolve) => setTimeout(resolve, 2));`,
    ),
    turns: [
      `${write('a', 'a.txt')}${action('d', 'slow')}${write('c', 'c.txt', { depends_on: ['d'] })}${DONE}`,
    ],
    during: async (session) => {
      await seen(session, 'review.requested');
      writeFileSync(go, '');
    },
  });
  expect(result).toMatchObject({ status: 'waiting', reviews: [{ action: 'a' }] });
  expect(readFileSync(join(folder, 'c.txt'), 'utf8')).toBe('c');
});

it('a called agent that does what was approved, and then waits on, is let go of with the one that called it', async () => {
  const done: string[] = [];
  const ask = defineTool({
    name: 'ask',
    approval: 'always',
    run: (_, { idempotencyKey }) => {
      done.push(idempotencyKey.replace(/.*:/, ''));
      return 1;
    },
  });
  const kid = await defineAgent({
    name: 'kid',
    tools: [ask],
    model: scripted([`<parallel>${action('p', 'ask')}${action('q', 'ask')}</parallel>`, DONE]),
  });
  const agent = await defineAgent({
    name: 'boss',
    tools: [ask],
    agents: [kid],
    model: scripted([
      `<action type="agent" id="k">{"name":"kid","parameters":{"input":"Go."}}</action>${action('s', 'ask', { parameters: { of: '$k' } }, 'sync')}`,
      DONE,
    ]),
  });
  const runtime = await createRuntime({ store: 'memory' });
  onTestFinished(() => runtime.close());
  const first = runtime.start(agent, { input: 'Go.' });
  expect((await first.result).status).toBe('waiting');
  const review = (await runtime.reviews()).find((each) => each.action === 'q')?.review ?? '';
  await runtime.answer(review, { approved: true, by: 'ann' });
  const second = await runtime.resume(first.id, { agent });
  expect(await second.result).toMatchObject({ status: 'waiting', reviews: [{ action: 'p' }] });
  expect(done).toEqual(['q']);
  expect((await runtime.events(`${first.id}.k`)).at(-1)?.type).toBe('session.waiting');
});

describe('a session that waits for a person and is spoken to', () => {
  const READ = '<response>I have read it.</response>';

  it.each([
    ['behind a final response', '', `${action('a', 'quick')}${DONE}`],
    [
      'at a sync action whose result it is to see first',
      'protocol: { on_sync: observe }\n',
      action('a', 'quick', {}, 'sync'),
    ],
    ['in a final response that names it', '', `${action('a', 'quick')}<response>It is $a.</response>`],
    [
      'in a response that names it',
      '',
      `${action('a', 'quick')}<response final="false">It is $a.</response><response final="false">And $a-ish.</response>`,
    ],
  ])('%s goes on with that when it is resumed, and then waits on', async (_what, manifest, turn) => {
    const { start, resume, runtime, prompts, calls, of } = await staged({
      tools: ASKED,
      manifest: `permissions: { sandbox: "off" }\n${manifest}`,
      turns: [turn, READ],
    });
    expect(await start().result).toMatchObject({ status: 'waiting' });
    await runtime.steer('ses_stage', 'Do not.');
    expect(await (await resume()).result).toMatchObject({ status: 'waiting' });
    expect(prompts.slice(1)).toEqual([expect.stringContaining('Do not.')]);
    expect(calls()).toEqual([]);
    expect(await of('review.requested')).toHaveLength(1);
  });

  it('in a response that names what is asked for lets it go out without, held or not', async () => {
    const { start, runtime, of } = await staged({
      tools: ASKED,
      turns: [
        `${action('a', 'quick')}<response final="false">It is $a-ish, I hope.</response><response final="false">And $a!</response>`,
        READ,
      ],
      onWaiting: 'hold',
    });
    const session = start();
    await seen(session, 'session.waiting');
    await runtime.steer('ses_stage', 'Do not.');
    await seen(session, 'turn.completed', 2);
    expect(await of('response')).toMatchObject([
      {
        turn: 1,
        text: 'It is [unavailable: a: it waits for a person to decide.]-ish, I hope.',
        final: false,
      },
      { turn: 1, text: 'And [unavailable: a: it waits for a person to decide.]!', final: false },
    ]);
    const [review] = await runtime.reviews();
    await runtime.answer(review?.review ?? '', { approved: true, by: 'ann' });
    expect(await session.result).toMatchObject({ status: 'completed', result: 'I have read it.' });
    expect(await of('response')).toHaveLength(3);
  });

  it('behind a sync action counts as used what was held back there, which is not on its log', async () => {
    const behind = `<thought>${'hmm '.repeat(400)}</thought>`;
    const { start, runtime, of } = await staged({
      tools: ASKED,
      turns: [`${action('a', 'quick', {}, 'sync')}${behind}`, READ],
      onWaiting: 'hold',
    });
    const session = start();
    await seen(session, 'session.waiting');
    await runtime.steer('ses_stage', 'Do not.');
    await seen(session, 'turn.failed');
    const [cut] = await of('turn.failed');
    expect(cut).toMatchObject({ error: { code: 'interrupted' }, usage: { estimated: true } });
    expect((cut as { usage: { output: number } }).usage.output).toBeGreaterThan(400);
    expect(await of('thought')).toEqual([]);
    session.cancel('enough');
    await session.result;
  });

  it('before all else has ended goes on with that as soon as only people are waited for', async () => {
    const { start, runtime, prompts, open, of } = await staged({
      tools: { slow: '', ...ASKED },
      turns: [`${action('a', 'quick')}${action('s', 'slow')}${DONE}`, READ],
    });
    const session = start();
    await seen(session, 'turn.completed');
    await runtime.steer('ses_stage', 'Do not.');
    await seen(session, 'message.received');
    open('slow');
    expect(await session.result).toMatchObject({ status: 'waiting', turns: 2 });
    expect(prompts.slice(1)).toEqual([expect.stringContaining('Do not.')]);
    expect(await of('session.waiting')).toHaveLength(1);
  });
});
