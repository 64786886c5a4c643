import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { type RecordedIoOptions, recordedIo } from '../cli/recorded-io.ts';
import { openStage } from '../server/routes/stage.ts';
import { eventually } from '../store/eventually.ts';
import { effect, Scene, step, steps } from './changes-scene.ts';

/** The command line as a person types it, on the scene's own store. */
async function telltale(scene: Scene, argv: readonly string[], given: RecordedIoOptions = {}) {
  const io = { ...recordedIo({ cwd: scene.folder, ...given }), clock: createSystemClock() };
  const code = await main([...argv, '--store', 'sqlite:runs.db'], io);
  return { code, out: io.out(), err: io.err() };
}

const RESUME = ['workflow', 'resume', 'run_pay'];

const renamed = async () => {
  const scene = new Scene(steps(step('pick'), step('charge'), step('ship')));
  await scene.stopAt('charge');
  scene.write(steps(step('pick'), step('bill', 'charge'), step('ship')));
  return scene;
};

describe('telltale workflow resume after the workflow was changed', () => {
  it('names the command that accepts the change', async () => {
    const { code, err } = await telltale(await renamed(), RESUME);
    expect(code).toBe(1);
    expect(err).toContain('telltale workflow resume run_pay --store sqlite:runs.db --accept-changes');
  });

  it('shows the change step by step and refuses with 2 while a step is in doubt', async () => {
    const scene = await renamed();
    const { code, err } = await telltale(scene, [...RESUME, '--accept-changes']);
    expect(code).toBe(2);
    expect(err).toMatch(/= pick +completed +kept: stays completed/);
    expect(err).toMatch(/\? charge +running +in doubt \(now "bill"\): decide/);
    expect(err).toMatch(/= ship +kept: runs when it is its turn/);
    expect(err).toContain('--decide charge=rerun|skip|fail');
    expect(scene.effects()).toEqual(['pick', 'charge']);
  });

  it('goes on with what was decided', async () => {
    const scene = await renamed();
    const { code, out } = await telltale(scene, [
      ...RESUME,
      '--accept-changes',
      '--decide',
      'charge=skip:{"id":1}',
    ]);
    expect(code).toBe(0);
    expect(out).toContain('step.interrupted');
    expect(scene.effects()).toEqual(['pick', 'charge', 'ship']);
  });

  it('asks about each step in doubt on a terminal', async () => {
    const scene = await renamed();
    const { code, err } = await telltale(scene, [...RESUME, '--accept-changes'], {
      terminal: true,
      lines: ['what?', 'skip'],
    });
    expect(code).toBe(0);
    expect(err).toContain('charge may have taken effect. What now? [rerun/skip/fail]');
    expect(scene.effects()).toEqual(['pick', 'charge', 'ship']);
  });

  it('only shows the change with --dry-run, as JSON too', async () => {
    const scene = await renamed();
    const shown = await telltale(scene, [...RESUME, '--accept-changes', '--dry-run']);
    expect(shown).toMatchObject({ code: 0, out: expect.stringContaining('? charge') });
    const { out } = await telltale(scene, [...RESUME, '--accept-changes', '--dry-run', '--json']);
    expect(JSON.parse(out)).toMatchObject({ run: 'run_pay', changed: true, undecided: ['charge'] });
    const { code } = await telltale(scene, RESUME);
    expect(code).toBe(1);
    expect(scene.effects()).toEqual(['pick', 'charge']);
  });

  it.each([
    [['--decide', 'charge=skip'], "'--decide' needs --accept-changes."],
    [['--dry-run'], "'--dry-run' needs --accept-changes."],
    [['--accept-changes', '--decide', 'charge=maybe'], "'--decide' cannot be 'charge=maybe'."],
    [['--accept-changes', '--decide', 'charge=fail:1'], "'--decide' cannot be 'charge=fail:1'."],
    [
      ['--accept-changes', '--decide', 'charge=skip', '--decide', 'charge=rerun'],
      '\'--decide\' is given twice for the step "charge".',
    ],
    [['--accept-changes', '--decide', 'pick=skip'], 'This cannot be decided about run_pay: pick=skip.'],
  ])('refuses %j', async (argv, message) => {
    const { code, err } = await telltale(await renamed(), [...RESUME, ...argv]);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  it('shows what was added before it goes on', async () => {
    const scene = new Scene(steps(step('one', 'one', ', on_error: continue')));
    await scene.stopAt('one');
    writeFileSync(
      join(scene.folder, 'flows/pay.yml'),
      steps(step('zero'), step('one', 'one', ', on_error: continue'), step('two')),
    );
    const { code, err } = await telltale(scene, [...RESUME, '--accept-changes']);
    expect(code).toBe(0);
    expect(err).toMatch(/\+ zero +new: does not run where its place has passed/);
    expect(err).toMatch(/\+ two +new: runs when it is its turn/);
    expect(scene.effects()).toEqual(['one', 'two']);
  });
});

describe('POST /runs/{id}/resume after the workflow was changed', () => {
  /** A server, and a run that another process was killed in, whose step in flight was renamed since. */
  const stage = async () => {
    const opened = await openStage();
    const write = (name: string, text: string) => writeFileSync(join(opened.folder, name), text);
    for (const [name, text] of Object.entries(effect)) write(name, text);
    write('hang', 'charge');
    write('pay.flow.yml', steps(step('charge'), step('ship')));
    const other = await createRuntime({ store: opened.runtime.store.location, cwd: opened.folder });
    const workflow = await loadWorkflow('asker.yml', { cwd: opened.folder, workflow: 'pay' });
    const run = other.workflows.start(workflow, { id: 'run_pay' });
    await eventually(() => expect(existsSync(join(opened.folder, 'effects.txt'))).toBe(true));
    await run.interrupt();
    await other.close();
    write('hang', 'nothing');
    write('pay.flow.yml', steps(step('bill', 'charge'), step('ship')));
    return opened;
  };

  const failure = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );

  it('answers 409 with the diff until the steps in doubt are decided about', async () => {
    const { client, ask, close, runtime } = await stage();
    try {
      const plain = await failure(client.resumeRun('run_pay'));
      expect(plain).toMatchObject({
        code: 'manifest_changed',
        hint: expect.stringContaining('telltale workflow resume run_pay --accept-changes'),
      });
      expect(await client.runChanges('run_pay')).toMatchObject({ changed: true, undecided: ['charge'] });
      const undecided = await failure(client.resumeRun('run_pay', { accept_changes: true }));
      expect(undecided).toBeInstanceOf(RuntimeError);
      expect(undecided).toMatchObject({
        code: 'changes_undecided',
        changes: { undecided: ['charge'], steps: [{ step: 'charge', now: 'bill' }, { step: 'ship' }] },
      });
      const answer = await ask('/runs/run_pay/resume', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ accept_changes: true }),
      });
      expect(answer.status).toBe(409);
      expect(await answer.json()).toMatchObject({ changes: { undecided: ['charge'] } });
      await client.resumeRun('run_pay', { accept_changes: { decide: { charge: { skip: 'paid' } } } });
      await eventually(async () => expect((await client.run('run_pay')).status).toBe('completed'));
      const { steps: known } = await runtime.workflows.state('run_pay');
      expect(known.get('charge')).toMatchObject({ status: 'completed', output: 'paid' });
      expect(known.get('bill')).toMatchObject({ status: 'skipped' });
    } finally {
      await close();
    }
  });
});
