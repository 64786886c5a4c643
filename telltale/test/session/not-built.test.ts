import { describe, expect, it } from 'vitest';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { createRuntime } from '../../src/session/create-runtime.ts';
import { loadAgent } from '../../src/session/load-agent.ts';
import { agentFolder } from './run-agent.ts';

async function failureOf(manifest: string): Promise<unknown> {
  const folder = agentFolder(manifest);
  const agent = await loadAgent('agent.yml', { cwd: folder, name: 'tester' });
  const runtime = await createRuntime({ store: 'memory', cwd: folder });
  const session = runtime.start(agent, {
    input: 'Go.',
    model: createScriptedModel({ turns: ['<response>Done.</response>'] }),
  });
  try {
    await session.result;
    return undefined;
  } catch (thrown) {
    return thrown;
  } finally {
    await runtime.close();
  }
}

describe('an agent that asks for what is not built yet is refused, with the key', () => {
  const cases: readonly (readonly [key: string, manifest: string])[] = [
    ['context_feeds', 'context_feeds: [{ id: time, source: { type: internal, action: system_clock } }]\n'],
    ['memory', 'memory: { graph: ./ }\n'],
    [
      'internal_actions.allowed_actions: add_context_feed',
      'internal_actions: { allowed_actions: [read_output, add_context_feed] }\n',
    ],
  ];
  it.each(cases)('%s', async (key, manifest) => {
    const failure = await failureOf(manifest);
    expect(failure).toMatchObject({ code: 'not_built' });
    expect(String(failure)).toContain(`cannot be run yet: ${key}.`);
  });

  it('and one that asks for none of it runs', async () => {
    expect(
      await failureOf(
        'internal_actions: { allowed_actions: [read_output], blocked_actions: [complete_step] }\n',
      ),
    ).toBeUndefined();
  });
});
