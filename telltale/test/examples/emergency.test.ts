import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventOf, EventType } from '../../src/log/event.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import { type ExampleRun, examples, expectEvents, expectSoundLog, runExample } from './example-run.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-emergency-')));
let run: ExampleRun;

beforeAll(async () => {
  cpSync(`${examples}/emergency`, folder, { recursive: true });
  run = await runExample({ folder, input: 'Release 2.0.0' });
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const text = (path: string) => readFileSync(join(folder, path), 'utf8');
const of = <Type extends EventType>(type: Type) =>
  run.events.filter((event) => event.type === type) as unknown as readonly EventOf<Type>[];
const logOf = (workflow: string): readonly RunEvent[] =>
  run.runs.find(([first]) => first?.type === 'workflow.started' && first.workflow === workflow) ?? [];

describe('examples/emergency', () => {
  it('does what expected.events.jsonl says', () =>
    expectEvents('emergency', run.events, { FOLDER: folder }, run.runs));

  it('has a log that is sound', () => expectSoundLog(run.events));

  it('sets everything off with the one update that says HIGH and ERROR, the alert first', () => {
    const fired = of('trigger.fired');
    expect(fired.map(({ workflow }) => workflow)).toEqual([
      'alert',
      'incident_report',
      'escalate',
      'move_to_standby',
    ]);
    const error = of('metadata.changed').find(({ changes }) => changes.status?.to === 'ERROR');
    expect(new Set(fired.map(({ cause }) => cause.seq))).toEqual(new Set([error?.seq]));
  });

  it('tells whoever is on call', () => {
    expect(logOf('alert').at(-1)).toMatchObject({
      type: 'workflow.completed',
      output: { message: 'operator: the checkout answers 500', to: 'on-call' },
    });
  });

  it('has written a report of what had been done up to then', () => {
    expect(text('incidents/checkout.md')).toBe(
      '# critical_failure: the checkout answers 500\n\nRELEASING → ERROR in turn 2 of operator.\n\nDone until then:\n- release: switch, completed\n- look: health, completed\n',
    );
  });

  it('puts back in reverse order what a workflow had moved before its check failed', () => {
    const moves = text('site/journal.txt')
      .split('\n')
      .filter((line) => /^(?:maintenance|traffic)/.test(line));
    expect(moves).toEqual([
      'maintenance: off → on',
      'traffic: main → standby',
      'traffic: standby → main',
      'maintenance: on → off',
    ]);
    expect([text('site/maintenance.txt'), text('site/traffic.txt')]).toEqual(['off\n', 'main\n']);
    const undone = logOf('move_to_standby').flatMap((event) =>
      event.type === 'step.compensated' ? [event.step] : [],
    );
    expect(undone).toEqual(['move', 'announce']);
  });

  it('wakes nobody: an error that is seen again is skipped, and one that is over is cancelled', () => {
    expect(of('trigger.suppressed')).toMatchObject([{ trigger: 'escalate#0', reason: 'busy' }]);
    expect(logOf('escalate').at(-1)?.type).toBe('workflow.cancelled');
    expect(existsSync(join(folder, 'incidents/woken.txt'))).toBe(false);
  });

  it('goes on beside it all, and takes the release back', () => {
    expect(run.result).toMatchObject({
      status: 'completed',
      result:
        '2.0.0 broke the site (the checkout answers 500). 1.9.0 is back, and the site is healthy: true.',
    });
    expect(text('site/version.txt')).toBe('1.9.0\n');
  });
});
