import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRuntime } from '../../src/session/create-runtime.ts';
import { defineAgent } from '../../src/session/define/define-agent.ts';
import { defineArtifact } from '../../src/session/define/define-artifact.ts';
import { defineWorkflow } from '../../src/session/define/define-workflow.ts';
import { findWorkflow } from '../../src/session/runs/find-workflow.ts';

describe('a workflow and an artifact in code', () => {
  it('run as those of manifests do: input with its defaults, decisions asked, waits held', async () => {
    const pace = defineArtifact({
      name: 'pace',
      methods: {
        go: (n, context) => n < 3 && context.balance === null,
        say(who) {
          return `Hi ${who}`;
        },
      },
    });
    const w = defineWorkflow({
      name: 'greet',
      input: z.object({ who: z.string(), times: z.number().default(2) }),
      steps: [
        {
          name: 'ok',
          type: 'script',
          script: 'input.times',
          condition: { invoke: 'pace', method: 'go', args: [2], fallback: false },
        },
        { name: 'rest', type: 'wait', for: '20ms' },
        { name: 'text', type: 'script', script: '`Hello ${input.who} ${steps.ok.output}`' },
      ],
    });
    const agent = await defineAgent({ name: 'a', workflows: [w], artifacts: [pace] });
    const runtime = await createRuntime({ store: 'memory' });
    const run = runtime.workflows.start(findWorkflow(agent, w), { input: { who: 'Ann' }, onWaiting: 'hold' });
    expect(await run.result).toMatchObject({ status: 'completed', output: 'Hello Ann 2' });
    const events = await runtime.workflows.events(run.id);
    expect(events.filter(({ type }) => type === 'invoke')).toMatchObject([
      { where: 'step ok: condition', artifact: 'pace', version: 1, method: 'go', args: [2], result: true },
    ]);
    expect(events.map(({ type }) => type)).toContain('timer.fired');
    await runtime.close();
  });
});
