import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRuntime } from '../../src/session/create-runtime.ts';
import { defineAgent } from '../../src/session/define/define-agent.ts';
import { defineArtifact } from '../../src/session/define/define-artifact.ts';
import { defineWorkflow } from '../../src/session/define/define-workflow.ts';
import { findWorkflow } from '../../src/session/runs/find-workflow.ts';

describe('x', () => {
  it('y', async () => {
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
        { name: 'rest', type: 'wait', for: '2s' },
        { name: 'text', type: 'script', script: '`Hello ${input.who} ${steps.ok.output}`' },
      ],
    });
    const agent = await defineAgent({ name: 'a', workflows: [w], artifacts: [pace] });
    const runtime = await createRuntime({ store: 'memory' });
    const run = runtime.workflows.start(findWorkflow(agent, w), { input: { who: 'Ann' }, onWaiting: 'hold' });
    console.log(await run.result);
    console.log(JSON.stringify(await runtime.workflows.events(run.id), null, 1));
    await runtime.close();
  });
});
