import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/lib/json.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import { runMachine } from '../../src/workflows/machine/run-machine.ts';
import { createScope } from '../../src/workflows/scope.ts';
import { createStepExecutors } from '../../src/workflows/steps/create-step-executors.ts';
import type { StepDeps } from '../../src/workflows/steps/step-deps.ts';
import { begin, fakeJournal, workflowOf } from './fake-run.ts';

/** A walk over steps that only wait; what it takes of the world is a log and a clock. */
function walking(steps: readonly object[]) {
  const clock = createSimulatedClock();
  const workflow = workflowOf({ steps });
  const journal = fakeJournal(clock);
  begin(journal);
  const scope = createScope({ state: journal.state, workflow });
  const decisions = {} as StepDeps['decisions'];
  const deps: Partial<StepDeps> = { workflow, journal, clock, scope, decisions };
  const executors = createStepExecutors(deps as StepDeps);
  const end = runMachine({
    workflow,
    journal,
    executors,
    decisions,
    scope,
    clock,
    random: () => 0,
    signal: new AbortController().signal,
    onSuspended: () => 'hold',
  });
  const signal = (name: string, data: Json = null) =>
    journal.append({ type: 'signal.received', event: 'custom', data: { name, data }, from: 'test' });
  const ended = (): readonly string[] =>
    journal.events.flatMap((event: RunEvent) =>
      event.type === 'step.completed' || event.type === 'step.cancelled'
        ? [`${event.type.slice('step.'.length)} ${event.step}`]
        : [],
    );
  return { clock, end, signal, ended };
}

const wait = (name: string, wanted: string) => ({
  name,
  type: 'wait',
  event: 'custom',
  match: { name: wanted },
});

describe('a signal', () => {
  it('that a wait has seen while another branch wins is not lost: the next wait has it', async () => {
    const ways = new Set<string>();
    for (let ticks = 0; ticks < 30; ticks++) {
      const run = walking([
        { name: 'first', type: 'race', branches: [[wait('a', 'go')], [wait('b', 'stop')]] },
        wait('c', 'stop'),
      ]);
      await run.clock.advance(0);
      run.signal('go');
      for (let tick = 0; tick < ticks; tick++) await undefined;
      run.signal('stop');
      await run.clock.advance(0);
      const ended = run.ended();
      ways.add(ended.join(', '));
      if (ended.includes('completed first/b')) continue;
      expect(ended).toEqual(['completed first/a', 'cancelled first/b', 'completed first', 'completed c']);
      expect(await run.end).toMatchObject({ kind: 'completed', output: { data: { name: 'stop' } } });
    }
    expect(ways.size).toBe(2);
  });
});
