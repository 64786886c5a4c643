import { cpSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { pacedModel } from '../../src/cli/demo/paced-model.ts';
import type { RunEvent } from '../../src/events/run-event.ts';
import { createSystemClock } from '../../src/kernel/clock.ts';
import { createRuntime } from '../../src/session/create-runtime.ts';
import { loadAgent } from '../../src/session/load-agent.ts';
import type { Runtime, SessionResult } from '../../src/session/runtime-types.ts';
import { type HeardModel, hear } from '../../src/testing/scripted.ts';
import { examples } from './example-run.ts';

const open: Runtime[] = [];
afterAll(() => Promise.all(open.map((runtime) => runtime.close())));

interface Led {
  readonly result: SessionResult;
  readonly model: HeardModel;
  readonly folder: string;
  readonly run: readonly RunEvent[];
}

/** Runs a copy of the example with one of its scripts; a person says yes to all that is asked. */
async function lead(example: string, script: string, input: string): Promise<Led> {
  const folder = join(mkdtempSync(join(tmpdir(), 'telltale-example-')), example);
  cpSync(join(examples, example), folder, { recursive: true });
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
  return { result, model, folder, run: await runtime.workflows.events(`${session.id}~lead`) };
}

const tasks = (run: readonly RunEvent[]) =>
  run.flatMap((event) => (event.type === 'step.claimed' ? [event.step] : []));

describe('examples/guided-change', () => {
  const REPORT = '9 cents at half price cost 4 cents, not 5.';

  it('takes five requests to the model for five steps, and mends the bug', async () => {
    const { result, model, folder, run } = await lead('guided-change', 'mender', REPORT);
    expect(result).toMatchObject({ status: 'completed', turns: 5 });
    expect(model.prompts).toHaveLength(5);
    expect(tasks(run)).toEqual(['understand', 'propose', 'change', 'record', 'tell']);
    expect(readFileSync(join(folder, 'work/price.mjs'), 'utf8')).toContain('Math.round(');
    expect(run.flatMap((event) => (event.type === 'verify' ? [event.assessment] : []))).toEqual(['pass']);
    expect(run.some(({ type }) => type === 'model.used')).toBe(false);
  });

  it('lets neither a wrong change nor a borrowed proof through', async () => {
    const { result, folder, run } = await lead('guided-change', 'careless', REPORT);
    expect(result).toMatchObject({ status: 'completed', turns: 7 });
    expect(run.flatMap((event) => (event.type === 'verify' ? [event.assessment] : []))).toEqual([
      'retry',
      'pass',
    ]);
    expect(tasks(run)).toEqual(['understand', 'propose', 'change', 'change', 'record', 'tell']);
    expect(readFileSync(join(folder, 'work/CHANGES.md'), 'utf8')).toContain('rounded half up');
  });
});

describe('examples/investigation', () => {
  it('asks until it is sure, and then reports', async () => {
    const { result, run } = await lead('investigation', 'detective', 'Why was the light out?');
    expect(result).toMatchObject({ status: 'completed', turns: 5 });
    expect(String(result.result)).toContain('overheated');
    expect(tasks(run).map((step) => step.replace(/.*\//, ''))).toEqual([
      'scene',
      'ask',
      'ask',
      'ask',
      'report',
    ]);
  });
});

describe('examples/routing', () => {
  it('goes the way that the agent says, not the first look', async () => {
    const long = await lead('routing', 'editor', 'Thank you! Where does the bridge have its name from?');
    expect(long.run.find((event) => event.type === 'step.completed')).toMatchObject({
      step: 'look',
      output: 'short',
    });
    expect(tasks(long.run).map((step) => step.replace(/.*\//, ''))).toEqual(['sort', 'find_out', 'write']);
    const short = await lead('routing', 'obedient', 'Thank you!');
    expect(tasks(short.run).map((step) => step.replace(/.*\//, ''))).toEqual(['sort', 'reply']);
  });
});
