import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { cancelSession } from '../../../src/server/routes/session-actions.ts';
import type { ServerDeps } from '../../../src/server/server-edges.ts';
import { scripted } from '../../../src/testing/scripted.ts';
import { agentFolder, tool } from '../../agent/run-agent.ts';
import { eventually } from '../../store/eventually.ts';

it('a session that waits for people is cancelled with its runs, and what these have done is undone', async () => {
  const clock = createSystemClock();
  const cwd = agentFolder(
    'permissions: { sandbox: "off" }\nimport: { tools: [./tools/*.yml], workflows: [./flow.yml] }\nmetadata: { fields: { stage: { values: [WAIT, GO], default: WAIT } } }\n',
    {
      ...tool('deploy', 'return 1;', 'approval: always\n'),
      ...tool(
        'mark',
        "(await import('node:fs')).writeFileSync(input.file, '');",
        'parameters: { type: object, properties: { file: { type: string } } }\n',
      ),
      'flow.yml': `kind: Workflow
name: flow
trigger: { type: metadata_match, conditions: { stage: GO } }
steps:
  - { name: first, type: tool, target: mark, parameters: { file: "\${agent.variables.done}" }, compensate: { target: mark, parameters: { file: "\${agent.variables.undone}" } } }
  - { name: ask, type: approval, prompt: "Go on?" }
`,
    },
  );
  const runtime = await createRuntime({ store: 'memory', cwd, clock });
  onTestFinished(() => runtime.close());
  const session = runtime.start(await loadAgent('agent.yml', { cwd }), {
    input: 'Go.',
    model: scripted(['<metadata>{"stage":"GO"}</metadata><action id="d">{"name":"deploy"}</action>']),
    vars: { done: join(cwd, 'done'), undone: join(cwd, 'undone') },
  });
  expect(await session.result).toMatchObject({ status: 'waiting' });
  const runs = () => runtime.store.list({ kind: 'run', parent: session.id });
  await eventually(async () => expect(await runs()).toMatchObject([{ status: 'waiting' }]));
  const info = await runtime.store.info(session.id);
  if (info === undefined) throw new Error('There is no session.');
  await cancelSession({ runtime, clock } as ServerDeps, info, 'ann');
  await eventually(async () => expect(await runs()).toMatchObject([{ status: 'cancelled' }]));
  expect(await runtime.store.info(session.id)).toMatchObject({ status: 'cancelled' });
  expect(existsSync(join(cwd, 'undone'))).toBe(true);
});
