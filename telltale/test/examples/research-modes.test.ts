import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import type { EventOf } from '../../src/log/event.ts';
import { recordedIo } from '../cli/recorded-io.ts';
import { type ExampleRun, examples, expectEvents, expectSoundLog, runExample } from './example-run.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-research-modes-')));
const store = join(folder, 'store.db');
let run: ExampleRun;

beforeAll(async () => {
  cpSync(`${examples}/research-modes`, folder, { recursive: true });
  run = await runExample({ folder, input: 'Who keeps the light?', store: `sqlite:${store}` });
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const text = (path: string) => readFileSync(join(folder, path), 'utf8');
const outputOf = (workflow: string) => {
  const log = run.runs.find(([first]) => first?.type === 'workflow.started' && first.workflow === workflow);
  const end = log?.at(-1);
  return end?.type === 'workflow.completed' ? end.output : undefined;
};

describe('examples/research-modes', () => {
  it('does what expected.events.jsonl says', () => {
    const steady = JSON.parse(
      JSON.stringify(run.runs)
        .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
        .replace(/"usage":\{[^}]*\}/g, '"usage":{}'),
    );
    return expectEvents('research-modes', run.events, { FOLDER: folder }, steady);
  });

  it('has a log that is sound', () => expectSoundLog(run.events));

  it('sets off one workflow for each mode, once', () => {
    const fired = run.events.filter(
      (event): event is EventOf<'trigger.fired'> => event.type === 'trigger.fired',
    );
    expect(fired.map(({ workflow, turn }) => [workflow, turn])).toEqual([
      ['save_citations', 2],
      ['summarize', 2],
      ['format_references', 3],
    ]);
  });

  it('keeps the citations in a relic that outlives the session', () => {
    const kept = (outputOf('save_citations') as { entries: readonly { value: { title: string } }[] }).entries;
    expect(kept.map(({ value }) => value.title)).toEqual(['Lamps and lenses', 'The keepers']);
  });

  it('has a model write the summary, and a script the references', () => {
    expect(text('paper/summary.md')).toBe('A light that one wick can give takes two people to keep.\n');
    expect(text('paper/references.md')).toBe(
      '1. Bell, T. (1931). *The keepers*.\n2. Stevens, I. (1902). *Lamps and lenses*.\n',
    );
    expect(text('paper/paper.md')).toContain('# Who keeps the light');
  });

  it('says what was spent in each mode, as its README quotes', async () => {
    const io = recordedIo({ cwd: folder });
    expect(await main(['show', 'last', '--states', '--store', store], io)).toBe(0);
    // Times, and tokens that hang on them, differ from run to run.
    const steady = (shown: string) =>
      shown
        .replace(/[\d.,]+ m?s\b|[\d,]+ \+ [\d,]+/g, 'N')
        .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
        .replace(/event \d+/g, 'event N')
        .replace(/ +/g, ' ');
    const quoted = /```text\n(mode is [\s\S]*?)```/.exec(text('README.md'))?.[1] ?? '';
    expect(steady(quoted)).toBe(steady(io.out()));
  });
});
