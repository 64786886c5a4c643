import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { nodeOnPath, pacedModel } from '../../src/cli/demo/run-demo.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import { hear } from '../../src/testing/scripted.ts';
import { type ExampleRun, examples, expectEvents, expectSoundLog, runExample } from './example-run.ts';

const TIMEOUT_MS = 60_000;
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-auto-docs-')));
const project = join(folder, 'project');
const env = nodeOnPath({ PATH: process.env.PATH }, process.execPath);
// In a hook of git, its variables name the repository that the hook belongs to.
const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
const git = (...args: readonly string[]) =>
  execFileSync('git', ['-C', project, ...args], { encoding: 'utf8', env: own });
const text = (path: string) => readFileSync(join(project, path), 'utf8');

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('examples/auto-docs', () => {
  let run: ExampleRun;

  beforeAll(async () => {
    cpSync(`${examples}/auto-docs`, folder, { recursive: true });
    git('init', '--quiet', '--template=', '--initial-branch=main');
    git('config', 'user.name', 'Library');
    git('config', 'user.email', 'library@example.com');
    git('add', '--all');
    git('commit', '--quiet', '--no-gpg-sign', '--message=Begin');
    run = await runExample({ folder, input: 'Add slugify', env });
  }, TIMEOUT_MS);

  it('does what expected.events.jsonl says', () =>
    expectEvents(
      'auto-docs',
      run.events,
      { FOLDER: folder, COMMIT: git('rev-parse', '--short', 'HEAD').trim() },
      run.runs,
    ));

  it('has a log that is sound', () => expectSoundLog(run.events));

  it('has written a page and an entry of the changelog from what the agent declared', () => {
    expect(text('docs/slugify.md')).toBe(
      "# slugify\n\nIt turns a title into a part of a URL.\n\n    slugify('Hello, World') // 'hello-world'\n",
    );
    expect(text('CHANGELOG.md')).toContain(
      '## Unreleased\n\n- slugify: turns a title into a part of a URL\n\n## 1.0.0',
    );
  });

  it('has committed both, and left what the agent is working on alone', () => {
    expect(git('log', '--format=%s')).toBe('docs: slugify (library_coder, turn 2)\nBegin\n');
    expect(git('show', '--format=', '--name-only')).toBe('CHANGELOG.md\ndocs/slugify.md\n');
    expect(git('status', '--short')).toBe(' M src/text.js\n');
  });

  it('has looked at the code when the agent said that it is written', () => {
    const looked = run.runs.flat().find((event) => event.type === 'step.completed' && event.step === 'look');
    expect(looked).toMatchObject({ output: { stdout: '1 file, no problem' } });
  });

  it('commits nothing where a step before has failed', { timeout: TIMEOUT_MS }, async () => {
    const before = git('log', '--format=%s');
    git('checkout', '--', 'src');
    rmSync(join(project, 'CHANGELOG.md'));
    const { result, runs } = await runExample({ folder, input: 'Add slugify', env });
    const docs = runs.find(
      ([first]) => first?.type === 'workflow.started' && first.workflow.startsWith('docs'),
    );
    const about = docs?.flatMap((event) =>
      'step' in event && event.type !== 'step.started' ? [`${event.type} ${event.step}`] : [],
    );
    expect(about).toEqual([
      'step.completed page',
      'step.failed changelog',
      'step.skipped stage',
      'step.skipped commit',
    ]);
    expect(docs?.at(-1)?.type).toBe('workflow.completed');
    expect(git('log', '--format=%s')).toBe(before);
    expect(result.status).toBe('completed');
  });
});

/** Runs slow.yml on a clock of its own, with its workflow or without. Nothing here takes a minute. */
async function slowRun(hasWorkflow: boolean) {
  const clock = createSimulatedClock();
  const all = { PATH: process.env.PATH };
  const loaded = await loadAgent('slow.yml', { cwd: folder, env: all });
  const { manifest } = loaded;
  const agent = hasWorkflow
    ? loaded
    : { ...loaded, manifest: { ...manifest, import: { ...manifest.import, workflows: [] } } };
  const runtime = await createRuntime({ store: 'memory', clock, cwd: folder, env: all });
  const model = hear(await pacedModel(agent, 2, clock));
  const session = runtime.start(agent, { input: 'Review the library', model });
  let isOver = false;
  const ended = session.result.finally(() => {
    isOver = true;
  });
  /** Time stands still while a run has something to do: how long this machine takes for it must not show. */
  const runsAreQuiet = () =>
    vi.waitFor(async () => {
      for (const event of await runtime.events(session.id).catch(() => [])) {
        if (event.type !== 'trigger.fired') continue;
        const log = await runtime.workflows.events(event.run);
        const timer = log.find(({ type }) => type === 'timer.set');
        if (timer?.type !== 'timer.set') throw new Error('It has not come to its wait yet.');
        if (timer.due <= clock.now() && !log.some(({ type }) => type === 'workflow.failed'))
          throw new Error('It has not ended yet.');
      }
    }, TIMEOUT_MS);
  await vi.waitFor(async () => {
    const events = await runtime.events(session.id);
    expect(events.some(({ type }) => type === 'turn.started')).toBe(true);
  }, TIMEOUT_MS);
  while (!isOver) {
    await clock.advance(500);
    await new Promise((resolve) => setImmediate(resolve));
    await runsAreQuiet();
  }
  const result = await ended;
  const events = await runtime.events(session.id);
  const runs: (readonly RunEvent[])[] = [];
  for (const event of events)
    if (event.type === 'trigger.fired') runs.push(await runtime.workflows.events(event.run));
  await runtime.close();
  return { result, events, runs, prompts: model.prompts };
}

describe('an agent beside a workflow that takes a minute and fails', () => {
  let beside: Awaited<ReturnType<typeof slowRun>>;
  let alone: Awaited<ReturnType<typeof slowRun>>;

  beforeAll(async () => {
    beside = await slowRun(true);
    alone = await slowRun(false);
  }, TIMEOUT_MS);

  it('takes as long as without it, to the millisecond, and says the same', () => {
    const own = (events: readonly SessionEvent[]) =>
      events
        .filter(({ type }) => !type.startsWith('trigger.') && !type.startsWith('workflow.'))
        .map(({ type, turn, at }) => `${at} ${turn} ${type}`);
    expect(beside.events.filter(({ type }) => type === 'trigger.fired')).toHaveLength(1);
    expect(own(beside.events)).toEqual(own(alone.events));
    expect(beside.result).toMatchObject({ status: 'completed', result: alone.result.result });
  });

  it('hears of the failure in the next turn, and only there', () => {
    const [log = []] = beside.runs;
    const began = log[0]?.at ?? 0;
    const failed = beside.events.find(({ type }) => type === 'workflow.failed');
    expect(failed).toMatchObject({ at: began + 60_000, turn: 2, told: true });
    const turn3 = beside.events.find(({ type, turn }) => type === 'turn.started' && turn === 3);
    expect(turn3?.at).toBeGreaterThan(began + 60_000);
    const told = beside.prompts.map((prompt) => prompt.includes('link_check failed'));
    expect(told).toEqual([false, false, true]);
    expect(beside.prompts[2]).toContain('index.md links to reverse.md, which is not there.');
  });

  it('begins its next turn while the workflow still waits', () => {
    const [log = []] = beside.runs;
    const fired = log.find(({ type }) => type === 'timer.fired')?.at ?? 0;
    const turn2 = beside.events.find(({ type, turn }) => type === 'turn.started' && turn === 2);
    expect(turn2?.at).toBeLessThan(fired);
  });
});
