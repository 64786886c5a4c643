import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { agentFolder } from '../agent/run-agent.ts';
import { eventually } from '../store/eventually.ts';
import { effect, step, steps } from './changes-scene.ts';

describe('a run that belongs to a session', () => {
  it('follows the change that was accepted for its session, and a step in doubt fails in it', async () => {
    const folder = agentFolder('import: { tools: [./tools/*.yml], workflows: [./pay.yml] }\n', {
      ...effect,
      'pay.yml': steps(step('charge'), step('ship')),
      hang: 'charge',
    });
    const effects = () =>
      existsSync(join(folder, 'effects.txt'))
        ? readFileSync(join(folder, 'effects.txt'), 'utf8').trim().split('\n')
        : [];
    const open = () => createRuntime({ store: 'sqlite:runs.db', durability: 'process', cwd: folder });
    const first = await open();
    let runtime = first;
    try {
      const model = scripted(
        [
          '<action id="a1" type="workflow" mode="sync">{"name":"pay","parameters":{}}</action>\n',
          '<response>Done.</response>',
          '<response>Done.</response>',
        ],
        { id: 'scripted:test' },
      );
      const session = first.start(await loadAgent('agent.yml', { cwd: folder }), { input: 'Go.', model });
      await eventually(() => expect(effects()).toEqual(['charge']));
      await first.close();
      runtime = await open();
      writeFileSync(join(folder, 'hang'), 'nothing');
      writeFileSync(join(folder, 'pay.yml'), steps(step('bill', 'charge'), step('ship')));
      const agent = await loadAgent('agent.yml', { cwd: folder });
      const resumed = await runtime.resume(session.id, { agent, model, acceptChanges: true });
      expect((await resumed.result).status).toBe('completed');
      expect(effects()).toEqual(['charge']);
      const [run] = await runtime.store.list({ kind: 'run' });
      const state = await runtime.workflows.state(run?.stream ?? '');
      expect(state).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
      expect([...state.steps.values()].filter(({ status }) => status === 'running')).toEqual([]);
    } finally {
      await runtime.close();
    }
  });
});
