import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Model } from '../../src/models/model.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { agentFolder } from './run-agent.ts';

const MANIFEST =
  'metadata: { scope: agent, fields: { color: { type: string }, size: { type: number }, notes: { type: object, merge: deep } } }\n';

describe('metadata of scope: agent', () => {
  it('set by one session is seen by another in its next turn, and neither undoes what the other set', async () => {
    const folder = agentFolder(MANIFEST);
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    const run = (model: Model) => runtime.start(agent, { input: 'Go.', model });
    const say = (...turns: readonly string[]) => createScriptedModel({ turns });
    const prompts: string[] = [];
    const first = run({
      id: 'test/slow',
      async stream({ turn, messages }, sink) {
        prompts.push(messages.at(-1)?.text ?? '');
        if (turn === 1) {
          sink.text('<metadata>{"color":"red","notes":{"a":1}}</metadata>');
          return { finish: 'stop' };
        }
        if (turn === 2) {
          const other = run(
            say(
              '<metadata>{"size":7,"notes":{"a":null,"b":2}}</metadata>',
              '<response>$color $size</response>',
            ),
          );
          expect((await other.result).result).toBe('red 7');
          sink.text('<metadata>{"color":"blue"}</metadata>');
        } else sink.text('<response>$color $size $notes</response>');
        return { finish: 'stop' };
      },
    });
    expect((await first.result).result).toBe('blue 7 {"b":2}');
    expect(prompts[2]).toContain('- size: 7');
    const seeded = (await runtime.events(first.id)).filter(
      (event) => event.type === 'metadata.changed' && event.by === 'seed',
    );
    expect(seeded).toHaveLength(1);
    const third = run(say('<response>$color $size</response>'));
    expect((await third.result).result).toBe('blue 7');
    await runtime.close();
  });
});
