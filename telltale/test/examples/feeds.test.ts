import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import type { EventOf } from '../../src/log/event.ts';
import { type ExampleRun, examples, expectSoundLog, runExample } from './example-run.ts';

const folder = mkdtempSync(join(tmpdir(), 'telltale-feeds-'));
let run: ExampleRun;
let debugged: ExampleRun;

const git = (...args: readonly string[]) =>
  execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args], { cwd: folder });

/** In a repository of its own, with a commit and a tag of time that the test knows. */
beforeAll(async () => {
  cpSync(`${examples}/feeds`, folder, { recursive: true });
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'Light the lamp');
  const input = 'Keep watch';
  const store = `sqlite:${join(folder, 'store.db')}`;
  run = await runExample({ folder, input, store });
  debugged = await runExample({ folder, input, store, env: { DEBUG_MODE: '1' } });
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const updates = ({ events }: ExampleRun, id: string) =>
  events.filter(
    (event): event is EventOf<'feed.updated'> => event.type === 'feed.updated' && event.id === id,
  );
const lastValue = (id: string, of = run) => updates(of, id).at(-1)?.value;
const output = (id: string) =>
  run.events.flatMap((event) =>
    event.type === 'action.completed' && event.id === id ? [event.output] : [],
  )[0];

describe('examples/feeds', () => {
  it('runs to its end, its model having seen what its script expects, and its log is sound', () => {
    expect(run.result.status).toBe('completed');
    expectSoundLog(run.events);
  });

  it('shows log and tree of the repository, and the journal', () => {
    expect(lastValue('recent_commits')).toMatch(/^[0-9a-f]{40} Light the lamp$/);
    expect(String(lastValue('repo_structure')).split('\n')).toContain('workflows/doc-aggregator.yml');
    expect(lastValue('journal_tree')).toContain('11-15.txt');
  });

  it('shows figures of the machine, by parameter and by reference', () => {
    expect(lastValue('system_metrics')).toEqual({
      cpu: expect.any(Number),
      memory: expect.any(Number),
      timestamp: expect.any(String),
    });
    expect(String(lastValue('disk_usage'))).toMatch(/^Filesystem/);
    expect(output('log_event')).toMatchObject({
      logged: 'Watch begun',
      at: updates(run, 'current_datetime')[0]?.value,
      load: { cpu: expect.any(Number) },
    });
  });

  it('shows errors of the last hour only, while the feed that the model added is there', () => {
    const errors = lastValue('recent_errors') as { entries: readonly { value: JsonObject }[] };
    expect(errors.entries.map(({ value }) => value.text)).toEqual(['the lamp is dark', 'no oil']);
    expect(JSON.stringify(output('feeds'))).not.toContain('recent_errors');
    expect(JSON.stringify(output('feeds'))).toContain('"interval":60');
  });

  it('gathers the papers by a workflow, once for all sessions, and has a model write the summary', () => {
    expect(lastValue('project_docs')).toContain('# docs/alarms.md\n\nAn alarm is');
    expect(updates(run, 'project_docs')[0]?.cached).toBeUndefined();
    expect(updates(debugged, 'project_docs')[0]?.cached).toBe(true);
    expect(run.result.result).toContain("A watchman's house");
  });

  it('asks the dear source once, cuts what is long, and shows what only debugging needs with DEBUG_MODE', () => {
    expect(updates(run, 'expensive_data')).toHaveLength(1);
    const [cut] = updates(run, 'large_dataset');
    expect(cut?.tokens).toBeLessThanOrEqual(100);
    expect(cut?.truncated).toBeGreaterThan(1000);
    expect(cut?.value).toContain('"ships"');
    expect(lastValue('debug_info')).toBeUndefined();
    expect(lastValue('debug_info', debugged)).toBeDefined();
  });

  it('leaves the prompt before the feeds alone, and says nothing of those that have not changed', () => {
    for (const event of run.events)
      if (event.type === 'turn.started') expect(event.prompt.reused_prefix).toBe(1);
    expect(updates(run, 'recent_commits')).toHaveLength(1);
    // A quick run may see one second only: each is shown once, and none is missing.
    const times = updates(run, 'current_datetime').map(({ value }) => String(value));
    expect(new Set(times).size).toBe(times.length);
    const lastTurn = run.events.findLast(({ type }) => type === 'turn.started');
    expect(Date.parse(times.at(-1) ?? '')).toBeGreaterThan((lastTurn?.at ?? 0) - 2_000);
  });
});
