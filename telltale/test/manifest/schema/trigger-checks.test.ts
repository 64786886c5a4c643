import { describe, expect, it } from 'vitest';
import { said, step, steps } from './said.ts';

const started = (...triggers: readonly object[]) => said({ ...steps(step('a')), triggers });
const match = { type: 'metadata_match', conditions: { x: 1 } };

describe('the triggers of a workflow', () => {
  it('cancel on exit only what they start on entering', () => {
    expect(started({ ...match, fire: 'on_exit', cancel_on_exit: true })).toEqual([
      'exclusive triggers.0.cancel_on_exit: This trigger never starts anything, because "cancel_on_exit" cancels what on_exit starts. | Remove "cancel_on_exit", or use on_enter.',
    ]);
    expect(started({ ...match, fire: 'on_enter', cancel_on_exit: true })).toEqual([]);
    expect(started({ ...match, fire: 'on_exit', cancel_on_exit: false })).toEqual([]);
    expect(started({ ...match, fire: 'on_exit' })).toEqual([]);
  });

  it('have hooks of different names', () => {
    const hook = (name: string) => ({ type: 'webhook', hook: name, secret: 's' });
    expect(started(hook('h'), { type: 'manual' }, hook('h'))).toEqual([
      'duplicate triggers.2.hook: There are two webhooks named "h". | The first is at triggers[0]. Rename this one.',
    ]);
    expect(started(hook('h'), hook('i'))).toEqual([]);
  });

  it('have one limit for what is started by hand', () => {
    const byHand = (max?: number) => ({
      type: 'manual',
      ...(max === undefined ? {} : { concurrency: { max } }),
    });
    expect(started(byHand(1), byHand(2))).toEqual([
      'warning no_effect triggers.1.concurrency: This "concurrency" has no effect, because the first "manual" trigger sets it for every manual start. | Keep one "manual" trigger.',
    ]);
    expect(started(byHand(), byHand(2))).toEqual([]);
    expect(started({ ...match, concurrency: { max: 1 } }, byHand(2))).toEqual([]);
  });
});

describe('the test of a trigger reads what there is before a run begins', () => {
  const tested = (test: string, type = 'metadata_match') =>
    said({
      ...steps(step('a')),
      trigger: { type, test, ...(type === 'event' ? { event: 'action.failed' } : {}) },
    });

  it.each(['steps.a.output == 1', 'steps.zz.output == 1', 'run.id == "x"', 'input.y == 2', 'trigger.x == 1'])(
    'and so not %s',
    (test) => {
      const root = /^\w+/.exec(test)?.[0];
      expect(tested(test)).toEqual([
        `unknown_name trigger.test: Unknown name "${root}" in the test of a trigger. | The test runs before a run begins. Known here: metadata, vars, and the names of variables.`,
      ]);
    },
  );

  it('and of the agent only where it is about an event', () => {
    expect(tested('agent.iteration_count > 3')).toEqual([
      'unknown_name trigger.test: Unknown name "agent" in the test of a trigger. | Only tests on events have it. Known here: metadata, vars, and the names of variables.',
    ]);
    expect(tested('agent.iteration_count > 3 && actions.size() > 1 && event.id == "x"', 'event')).toEqual([]);
    expect(tested('run.id == "x"', 'event')).toEqual([
      expect.stringContaining(
        'Known here: metadata, vars, event, agent, actions, and the names of variables',
      ),
    ]);
  });

  it('and so metadata, vars and variables', () => {
    expect(tested('metadata.status == "X" && vars.n > 1 && attempts < 3')).toEqual([]);
  });
});
