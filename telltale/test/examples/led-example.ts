import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { isScalar, parseDocument, visit } from 'yaml';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Runtime, SessionResult } from '../../src/agent/runtime-types.ts';
import { pacedModel } from '../../src/cli/demo/run-demo.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { EventOf } from '../../src/log/event.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import { type HeardModel, hear } from '../../src/testing/scripted.ts';
import { examples, expectSoundLog } from './example-run.ts';
import { heardPrompts } from './heard-prompts.ts';

const open: Runtime[] = [];
afterAll(() => Promise.all(open.map((runtime) => runtime.close())));

export interface Led {
  readonly result: SessionResult;
  readonly model: HeardModel;
  readonly folder: string;
  readonly session: string;
  readonly run: readonly RunEvent[];
  readonly tasks: readonly EventOf<'task.given'>[];
}

/** Runs a copy of the example with one of its scripts; a person says yes to all that is asked. Its log has to be sound. */
export async function lead(
  example: string,
  script: string,
  input: string,
  change: (folder: string) => void = () => undefined,
): Promise<Led> {
  const folder = join(mkdtempSync(join(tmpdir(), 'telltale-example-')), example);
  cpSync(join(examples, example), folder, { recursive: true });
  change(folder);
  const env = { PATH: process.env.PATH };
  const runtime = await createRuntime({ store: 'memory', cwd: folder, env });
  open.push(runtime);
  const agent = await loadAgent('agent.yml', { cwd: folder, env });
  const manifest = { ...agent.manifest, model: `scripted:./turns/${script}.yml` };
  const model = hear(await pacedModel({ manifest, folder: agent.folder }, undefined, createSystemClock()));
  const session = runtime.start(agent, { input, model });
  let result = await session.result;
  while (result.status === 'waiting') {
    const [review] = await runtime.reviews();
    await runtime.answer(review?.review ?? '', { approved: true, by: 'kim' });
    result = await (await runtime.resume(session.id, { agent, model })).result;
  }
  const events = await runtime.events(session.id);
  expectSoundLog(events);
  return {
    result,
    model,
    folder,
    session: session.id,
    run: await runtime.workflows.events(`${session.id}~lead`),
    tasks: events.flatMap((event) => (event.type === 'task.given' ? [event] : [])),
  };
}

/** Gives every step a name that nobody would write, so that it is found wherever it turns up. */
function nameless(folder: string): void {
  const path = join(folder, 'workflows');
  for (const file of readdirSync(path)) {
    const document = parseDocument(readFileSync(join(path, file), 'utf8'));
    const names = new Map<string, string>();
    visit(document, {
      Pair(_, { key, value }) {
        if (isScalar(key) && key.value === 'context_variables') return visit.SKIP;
        if (isScalar(key) && key.value === 'name' && isScalar(value) && value.value !== document.get('name'))
          if (!names.has(String(value.value))) names.set(String(value.value), `zqz${names.size}`);
        return undefined;
      },
    });
    let text = String(document);
    for (const [name, strange] of names)
      text = text
        .replaceAll(new RegExp(`(name: )${name}\\b(?!:)`, 'g'), `$1${strange}`)
        .replaceAll(new RegExp(`\\bsteps\\.${name}\\b`, 'g'), `steps.${strange}`);
    writeFileSync(join(path, file), text);
  }
}

export const tasks = (run: readonly RunEvent[]) =>
  run.flatMap((event) => (event.type === 'step.claimed' ? [event.step] : []));

/** That prompts hold the step in hand, nothing of those to come, and no name of any. */
export async function expectSecrecy(example: string, script: string, input: string): Promise<void> {
  const before = heardPrompts().length;
  const { result, session, tasks: given } = await lead(example, script, input, nameless);
  expect(result.status).toBe('completed');
  const prompts = heardPrompts().slice(before);
  expect(prompts.length).toBeGreaterThanOrEqual(given.length);
  expect(prompts.filter(({ whole }) => whole.includes('zqz')).map(({ whole }) => whole)).toEqual([]);
  for (const { whole } of prompts) for (const { task } of given) expect(whole).not.toContain(task);
  const asked = prompts.filter(({ whole }) => whole.includes(session));
  expect(asked).toEqual([]); // not even the session's own id
  for (const [at, { prompt }] of given.entries()) {
    const text = prompt.trim();
    const first = prompts.findIndex(({ last }) => last.includes(text));
    expect(first).toBeGreaterThanOrEqual(0);
    for (const { prompt: later } of given.slice(at + 1))
      if (!text.includes(later.trim())) expect(prompts[first]?.whole).not.toContain(later.trim());
    for (const { prompt: other } of given)
      if (!text.includes(other.trim())) expect(prompts[first]?.last).not.toContain(other.trim());
  }
}
