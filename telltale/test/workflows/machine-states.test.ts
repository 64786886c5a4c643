import { describe, expect, it } from 'vitest';
import { sleep } from '../../src/lib/clock.ts';
import type { WorkflowManifest } from '../../src/manifest/schema/kinds.ts';
import type { Step } from '../../src/manifest/schema/steps/step.ts';
import { createStage, step } from './machine-stage.ts';

interface StateParts {
  readonly steps?: readonly Step[];
  readonly transitions?: readonly unknown[];
  readonly final?: boolean;
}

const machine = (states: Readonly<Record<string, StateParts>>, more: object = {}) =>
  ({
    initial: 'one',
    states: Object.fromEntries(
      Object.entries(states).map(([name, parts]) => [
        name,
        { steps: [], transitions: [], final: false, ...parts },
      ]),
    ),
    ...more,
  }) as unknown as Partial<WorkflowManifest>;

describe('a state', () => {
  it('is entered with where it was come from, and is the cause of its steps', async () => {
    const stage = createStage(
      machine({ one: { transitions: [{ to: 'two' }] }, two: { steps: [step('a')], final: true } }),
    );
    await stage.run();
    const [, one, two, a] = stage.journal.events;
    expect(one).not.toHaveProperty('from');
    expect(one).toMatchObject({ type: 'state.entered', state: 'one', by: 'initial', visit: 1 });
    expect(two).toMatchObject({ state: 'two', from: 'one', by: 'transition 0' });
    expect(a).toMatchObject({ type: 'step.started', cause: { seq: two?.seq } });
  });

  it('is left by a common transition that names it, alone or among others, and by no other', async () => {
    const from = async (...names: readonly unknown[]) => {
      const stage = createStage(
        machine(
          { one: {}, two: { final: true }, three: { final: true } },
          {
            transitions: [...names.map((name) => ({ from: name, to: 'two' })), { from: 'one', to: 'three' }],
          },
        ),
      );
      await stage.run();
      return stage.journal.state.state;
    };
    expect(await from('*')).toBe('two');
    expect(await from('one')).toBe('two');
    expect(await from(['three', 'one'])).toBe('two');
    expect(await from('two', ['two', 'three'])).toBe('three');
  });

  it('that has named itself a hundred times is left no more, unless max_transitions says otherwise', async () => {
    const round = { one: { steps: [step('a')], transitions: [{ to: 'one' }] } };
    const stage = createStage(machine(round));
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'transition_limit' } });
    expect(stage.performed).toHaveLength(101);
  });

  it('is left for none where the run is cancelled while its way out is asked for', async () => {
    const cancel = new AbortController();
    const stage = createStage(
      machine({ one: { transitions: [{ to: 'two', condition: 'go' }] }, two: { final: true } }),
      {
        tests: {
          go: () => {
            cancel.abort('enough');
            return true;
          },
        },
      },
    );
    expect(await stage.run({ cancel: cancel.signal })).toEqual({ kind: 'cancelled', reason: 'enough' });
    expect(stage.short().filter((line) => line.startsWith('entered'))).toEqual(['entered one@1 by initial']);
  });

  it('goes where its last transition step says, by the log, also after a restart', async () => {
    const choose = (name: string) => step(name, { type: 'transition' });
    const workflow = machine({
      one: { steps: [step('both', { type: 'parallel', branches: [[choose('slow')], [choose('quick')]] })] },
      two: { final: true },
      three: { final: true },
    });
    const first = createStage(workflow, {
      steps: {
        slow: ({ signal }, clock) => sleep(clock, 5, signal).then(() => ({ state: 'two' })),
        quick: () => ({ state: 'three' }),
      },
    });
    const end = first.run();
    await first.clock.advance(5);
    await end;
    const entered = 'entered two@1 by step one@1/both/slow';
    expect(first.short().at(-1)).toBe(entered);
    const again = createStage(workflow, {}, { events: first.journal.events.slice(0, -1) });
    await again.run();
    expect(again.short().at(-1)).toBe(entered);
    expect(again.performed).toEqual([]);
  });

  it('keeps the choice of a visit to that visit', async () => {
    let visits = 0;
    const stage = createStage(
      machine({
        one: {
          steps: [step('choose', { type: 'transition', if: 'first' })],
          transitions: [{ to: 'two' }],
        },
        two: { final: true },
      }),
      { tests: { first: () => visits++ === 0 }, steps: { choose: () => ({ state: 'one' }) } },
    );
    await stage.run();
    expect(stage.short().filter((line) => line.startsWith('entered'))).toEqual([
      'entered one@1 by initial',
      'entered one@2 by step one@1/choose',
      'entered two@1 by transition 0',
    ]);
  });
});
