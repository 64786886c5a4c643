import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { flow, list, openSteps, Scene, step, steps, stepsOf } from './changes-scene.ts';

describe('a run whose step in flight was renamed', () => {
  const renamed = async () => {
    const scene = new Scene(steps(step('charge'), step('ship')));
    await scene.stopAt('charge');
    scene.write(steps(step('bill', 'charge'), step('ship')));
    return scene;
  };

  it('is refused until somebody decides, and does nothing before', async () => {
    const scene = await renamed();
    await expect(scene.resume(true)).rejects.toMatchObject({
      code: 'changes_undecided',
      message: expect.stringContaining('charge'),
      hint: expect.stringContaining(
        'telltale workflow resume run_pay --accept-changes --decide charge=rerun|skip|fail',
      ),
      changes: {
        undecided: ['charge'],
        steps: [
          { step: 'charge', change: 'in_doubt', now: 'bill', choices: ['rerun', 'skip', 'fail'] },
          { step: 'ship', change: 'kept' },
        ],
      },
    });
    expect(scene.effects()).toEqual(['charge']);
    expect(await scene.with(({ workflows }) => workflows.state('run_pay'))).toMatchObject({
      status: 'running',
    });
  });

  it('goes on behind it where it is skipped, with the output that was given, and its effect happened once', async () => {
    const scene = await renamed();
    const { result, events, state } = await scene.resume({ decide: { charge: { skip: { id: 7 } } } });
    expect(result).toMatchObject({ status: 'completed', output: { did: 'ship' } });
    expect(scene.effects()).toEqual(['charge', 'ship']);
    expect(stepsOf(events, 'step.interrupted')).toEqual(['charge']);
    expect(state.steps.get('charge')).toMatchObject({ status: 'completed', output: { id: 7 } });
    expect(state.steps.get('bill')).toMatchObject({ status: 'skipped', reason: 'changed' });
    expect(state.outputs.get('bill')).toEqual({ id: 7 });
    expect(openSteps(state)).toEqual([]);
  });

  it('runs it again under its new name where that was decided, and leaves nothing open', async () => {
    const scene = await renamed();
    const { result, events, state } = await scene.resume({ decide: { charge: 'rerun' } });
    expect(result).toMatchObject({ status: 'completed' });
    expect(scene.effects()).toEqual(['charge', 'charge', 'ship']);
    expect(stepsOf(events, 'step.interrupted')).toEqual(['charge']);
    expect(state.steps.get('bill')).toMatchObject({ status: 'completed' });
    expect(openSteps(state)).toEqual([]);
  });

  it('fails as its successor says where that was decided', async () => {
    const scene = new Scene(steps(step('charge'), step('ship')));
    await scene.stopAt('charge');
    scene.write(steps(step('bill', 'charge', ', on_error: continue'), step('ship')));
    const { result, state } = await scene.resume({ decide: { charge: 'fail' } });
    expect(result).toMatchObject({ status: 'completed' });
    expect(state.steps.get('bill')).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    expect(scene.effects()).toEqual(['charge', 'ship']);
    expect(openSteps(state)).toEqual([]);
  });
});

it('takes no decision about a run that somebody else brought to its end in between', async () => {
  const scene = new Scene(steps(step('charge'), step('ship')));
  await scene.stopAt('charge');
  scene.write(steps(step('bill', 'charge'), step('ship')));
  const store = await openStore('sqlite:runs.db', {
    cwd: scene.folder,
    clock: createSystemClock(),
    durability: 'process',
  });
  const acquire = async (stream: string) => {
    await scene.resume({ decide: { charge: 'skip' } });
    return store.acquire(stream);
  };
  const late = await createRuntime({ store: { ...store, acquire }, cwd: scene.folder });
  const decided = { acceptChanges: { decide: { charge: 'rerun' } } } as const;
  await expect(late.workflows.resume('run_pay', decided)).rejects.toMatchObject({ code: 'stream_owned' });
  await late.close();
  await store.close();
  expect(scene.effects()).toEqual(['charge', 'ship']);
  const events = await scene.with(({ workflows }) => workflows.events('run_pay'));
  expect(events.at(-1)?.type).toBe('workflow.completed');
});

describe('a run whose step in flight was removed', () => {
  const removed = async () => {
    const scene = new Scene(steps(step('pick'), step('charge'), step('ship')));
    await scene.stopAt('charge');
    scene.write(steps(step('pick'), step('ship')));
    return scene;
  };

  it('cannot run it again', async () => {
    const scene = await removed();
    await expect(scene.resume(true)).rejects.toMatchObject({ code: 'changes_undecided' });
    await expect(scene.resume({ decide: { charge: 'rerun' } })).rejects.toMatchObject({
      code: 'bad_decision',
    });
    expect(scene.effects()).toEqual(['pick', 'charge']);
  });

  it('goes on without it where it is skipped', async () => {
    const scene = await removed();
    const { result, state, events } = await scene.resume({ decide: { charge: 'skip' } });
    expect(result).toMatchObject({ status: 'completed' });
    expect(scene.effects()).toEqual(['pick', 'charge', 'ship']);
    expect(stepsOf(events, 'step.interrupted')).toEqual(['charge']);
    expect(openSteps(state)).toEqual([]);
  });

  it('fails with it where that was decided', async () => {
    const scene = await removed();
    const { result, state } = await scene.resume({ decide: { charge: 'fail' } });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    expect(scene.effects()).toEqual(['pick', 'charge']);
    expect(openSteps(state)).toEqual([]);
  });
});

describe('a run whose step in flight does something else now', () => {
  const changed = async () => {
    const scene = new Scene(steps(step('charge', 'charge 1'), step('ship')));
    await scene.stopAt('charge 1');
    scene.write(steps(step('charge', 'charge 2'), step('ship')));
    return scene;
  };

  it('begins it anew with its new parameters where that was decided', async () => {
    const scene = await changed();
    await expect(scene.resume(true)).rejects.toMatchObject({ code: 'changes_undecided' });
    const { result, events } = await scene.resume({ decide: { charge: 'rerun' } });
    expect(result).toMatchObject({ status: 'completed' });
    expect(scene.effects()).toEqual(['charge 1', 'charge 2', 'ship']);
    expect(events.find(({ type }) => type === 'step.interrupted')).toMatchObject({ again: true });
  });

  it.each([
    ['skip', ['charge 1', 'ship'], 'completed'],
    ['fail', ['charge 1'], 'failed'],
  ] as const)('does not run it where it was decided to %s', async (as, effects, status) => {
    const scene = await changed();
    const { result, state } = await scene.resume({ decide: { charge: as } });
    expect(result.status).toBe(status);
    expect(scene.effects()).toEqual(effects);
    expect(openSteps(state)).toEqual([]);
  });

  it('is not in doubt where only the handling of its failure has changed', async () => {
    const scene = new Scene(steps(step('charge'), step('ship')));
    await scene.stopAt('charge');
    scene.write(steps(step('charge', 'charge', ', on_error: continue, retry: 2'), step('ship')));
    const { result, state } = await scene.resume(true);
    expect(result.status).toBe('completed');
    expect(state.steps.get('charge')).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    expect(scene.effects()).toEqual(['charge', 'ship']);
  });
});

describe('a step that was added to the workflow of a run', () => {
  const inserted = async () => {
    const scene = new Scene(
      steps(step('one'), step('two'), step('three', 'three', ', on_error: continue'), step('five')),
    );
    await scene.stopAt('three');
    scene.write(
      steps(
        step('zero'),
        step('one'),
        step('two'),
        step('three', 'three', ', on_error: continue'),
        step('four'),
        step('five'),
      ),
    );
    return scene;
  };

  it('runs where its place is still to come, and not where the run is past it', async () => {
    const scene = await inserted();
    const { result, state } = await scene.resume(true);
    expect(result.status).toBe('completed');
    expect(scene.effects()).toEqual(['one', 'two', 'three', 'four', 'five']);
    expect(state.steps.get('zero')).toMatchObject({ status: 'skipped', reason: 'changed' });
  });

  it('runs although its place has passed where somebody wants that', async () => {
    const scene = await inserted();
    await scene.resume({ run_new: ['zero'] });
    expect(scene.effects()).toEqual(['one', 'two', 'three', 'zero', 'four', 'five']);
  });

  it('is refused by a name that is no new step', async () => {
    const scene = await inserted();
    await expect(scene.resume({ run_new: ['one'] })).rejects.toMatchObject({ code: 'bad_decision' });
    await expect(scene.resume({ decide: { two: 'skip' } })).rejects.toMatchObject({ code: 'bad_decision' });
  });

  it('does not run in the place of a finished one that was renamed, whose output counts as its own', async () => {
    const scene = new Scene(steps(step('charge'), step('ship', 'ship', ', on_error: continue')));
    await scene.stopAt('ship');
    scene.write(
      steps(
        step('bill', 'charge'),
        step('ship', 'ship', ', on_error: continue'),
        step('tell', '${steps.bill.output.did}'),
      ),
    );
    const { result } = await scene.resume(true);
    expect(result.status).toBe('completed');
    expect(scene.effects()).toEqual(['charge', 'ship', 'charge']);
  });

  it('runs in the rounds of a foreach that are still to come', async () => {
    const body = (...lines: readonly string[]) =>
      steps(
        `{ name: each, type: foreach, in: [a, b, c], as: item, max_parallel: 1, body: [${lines.join(', ')}] }`,
      );
    const charge = step('charge', '${item}', ', on_error: continue');
    const scene = new Scene(body(charge));
    await scene.stopAt('b');
    scene.write(body(step('check', 'check ${item}'), charge));
    const { result, state } = await scene.resume(true);
    expect(result.status).toBe('completed');
    expect(scene.effects()).toEqual(['a', 'b', 'check c', 'c']);
    expect(openSteps(state)).toEqual([]);
  });

  it('runs a renamed foreach from where it was, item by item', async () => {
    const body = (name: string, inner: string) =>
      steps(
        `{ name: ${name}, type: foreach, in: [a, b, c], as: item, max_parallel: 1, body: [${step(inner, '${item}', ', on_error: continue')}] }`,
      );
    const scene = new Scene(body('each', 'charge'));
    await scene.stopAt('b');
    scene.write(body('every', 'bill'));
    await expect(scene.resume(true)).rejects.toMatchObject({ changes: { undecided: ['each[1]/charge'] } });
    const { result, state } = await scene.resume({ decide: { 'each[1]/charge': 'skip' } });
    expect(result.status).toBe('completed');
    expect(scene.effects()).toEqual(['a', 'b', 'c']);
    expect(openSteps(state)).toEqual([]);
  });

  it('does not run in a state that the run has left', async () => {
    const states = (...first: readonly string[]) =>
      flow(
        `initial: a\nstates:\n  a:\n    steps: [${first.join(', ')}]\n    transitions: [{ to: b }]\n  b:\n    final: true\n    steps: [${step('two', 'two', ', on_error: continue')}]`,
      );
    const scene = new Scene(states(step('one')));
    await scene.stopAt('two');
    scene.write(states(step('one'), step('late')));
    const { result } = await scene.resume(true);
    expect(result.status).toBe('completed');
    expect(scene.effects()).toEqual(['one', 'two']);
  });
});

describe('a run that cannot follow its workflow', () => {
  it('is refused where the state that it stands in is gone', async () => {
    const states = (name: string) =>
      flow(`initial: ${name}\nstates:\n  ${name}:\n    final: true\n    steps: [${step('one')}]`);
    const scene = new Scene(states('a'));
    await scene.stopAt('one');
    scene.write(states('b'));
    await expect(scene.resume(true)).rejects.toMatchObject({
      code: 'manifest_changed',
      message: expect.stringContaining('state "a"'),
    });
  });
});

describe('what a changed workflow leaves waiting', () => {
  it('asks an approval anew that asks something else now', async () => {
    const ask = (prompt: string) => steps(`{ name: ask, type: approval, prompt: "${prompt}" }`, step('ship'));
    const scene = new Scene(ask('Ship to staging?'));
    await scene.waitIn();
    scene.write(ask('Ship to production?'));
    const { result, state } = await scene.resume(true);
    expect(result.status).toBe('waiting');
    expect(state.reviews).toMatchObject([
      { prompt: 'Ship to staging?', answer: 'withdrawn' },
      { prompt: 'Ship to production?' },
    ]);
    expect(state.reviews[1]?.answer).toBeUndefined();
  });

  it('withdraws the question of an approval that is gone, and goes on', async () => {
    const scene = new Scene(steps('{ name: ask, type: approval, prompt: "Ship?" }', step('ship')));
    await scene.waitIn();
    scene.write(steps(step('ship')));
    const { result, state } = await scene.resume(true);
    expect(result.status).toBe('completed');
    expect(state.reviews).toMatchObject([{ answer: 'withdrawn' }]);
    expect(openSteps(state)).toEqual([]);
    expect(scene.effects()).toEqual(['ship']);
  });

  it('waits for the time that a changed wait says', async () => {
    const wait = (time: string) => steps(`{ name: nap, type: wait, for: ${time} }`, step('ship'));
    const scene = new Scene(wait('1h'));
    await scene.waitIn();
    scene.write(wait('1ms'));
    expect((await scene.resume(true)).result.status).toBe('completed');
  });
});

describe('a run that called another', () => {
  it('asks about steps in doubt of the called run, and pins both', async () => {
    const other = (name: string) => flow(`steps:\n${list(step(name, 'charge'))}`, 'other');
    const scene = new Scene(
      steps('{ name: call, type: workflow, target: other }', step('ship')),
      other('charge'),
    );
    await scene.stopAt('charge');
    scene.write(other('bill'), 'other');
    await expect(scene.resume(true)).rejects.toMatchObject({ changes: { undecided: ['call:charge'] } });
    const { result } = await scene.resume({ decide: { 'call:charge': 'skip' } });
    expect(result.status).toBe('completed');
    expect(scene.effects()).toEqual(['charge', 'ship']);
  });
});

describe('an accepted change', () => {
  it('is accepted for good: the run goes on after another restart without a question', async () => {
    const scene = new Scene(steps(step('one'), step('two', 'two', ', on_error: continue'), step('four')));
    await scene.stopAt('two');
    scene.write(
      steps(
        step('one'),
        step('two', 'two', ', on_error: continue'),
        '{ name: ask, type: approval, prompt: ok }',
      ),
    );
    expect((await scene.resume(true)).result.status).toBe('waiting');
    expect((await scene.resume()).result.status).toBe('waiting');
  });

  it('is shown without being made', async () => {
    const scene = new Scene(steps(step('charge'), step('ship')));
    await scene.stopAt('charge');
    scene.write(steps(step('bill', 'charge'), step('ship')));
    const changes = await scene.with(({ workflows }) => workflows.changes('run_pay'));
    expect(changes).toMatchObject({ changed: true, undecided: ['charge'] });
    const events = await scene.with(({ workflows }) => workflows.events('run_pay'));
    expect(events.filter(({ type }) => type === 'workflow.changed')).toEqual([]);
  });
});

describe('a run that began before steps were recorded', () => {
  /** The log as an older version wrote it: its first event says nothing of steps. */
  const older = async (scene: Scene): Promise<void> => {
    const db = new DatabaseSync(join(scene.folder, 'runs.db'));
    const row = db
      .prepare(
        'SELECT l.rowid AS id, l.body FROM log l JOIN streams s ON s.id = l.stream WHERE s.stream = ? AND l.first = 1',
      )
      .get('run_pay') as { readonly id: number; readonly body: string };
    const body = row.body.replace(/,"steps":\[\{"at".*?\}\](?=[,}])/, '');
    expect(body).not.toBe(row.body);
    db.prepare('UPDATE log SET body = ? WHERE rowid = ?').run(body, row.id);
    db.close();
  };

  it('is in doubt about a step in flight that is gone, whatever stands there now', async () => {
    const scene = new Scene(steps(step('pick'), step('charge'), step('ship')));
    await scene.stopAt('charge');
    await older(scene);
    scene.write(steps(step('pick'), step('ship')));
    await expect(scene.resume(true)).rejects.toMatchObject({ changes: { undecided: ['charge'] } });
    const { result, state } = await scene.resume({ decide: { charge: 'skip' } });
    expect(result.status).toBe('completed');
    expect(scene.effects()).toEqual(['pick', 'charge', 'ship']);
    expect(openSteps(state)).toEqual([]);
  });

  it('goes on without a question where nothing was in flight that is gone', async () => {
    const scene = new Scene(steps(step('one'), '{ name: ask, type: approval, prompt: ok }'));
    await scene.waitIn();
    await older(scene);
    scene.write(steps(step('zero'), step('one'), '{ name: ask, type: approval, prompt: ok }'));
    expect((await scene.resume(true)).result.status).toBe('waiting');
    expect(scene.effects()).toEqual(['one']);
  });
});
