import { describe, expect, it } from 'vitest';
import { MAX_DEPTH } from '../../../src/agent/children/child-session.ts';
import { runAgent } from '../run-agent.ts';
import { call, calls, speaking } from './run-team.ts';

const files = {
  'agent.yml': 'kind: Agent\nname: a\nimport: { agents: [./b.yml] }\n',
  'b.yml': 'kind: Agent\nname: b\nimport: { agents: [./agent.yml] }\n',
};

/** Calls the other one in every turn, whatever it hears. */
const stubborn = speaking((request) => call(`n${request.turn}`, calls(request, 'b') ?? 'a'));

describe('agents that call each other in a circle', () => {
  it('end in an error that prints the chain', async () => {
    let sessions = 0;
    const ran = await runAgent({
      files,
      turns: [],
      model: stubborn,
      async after(_, runtime) {
        sessions = (await runtime.store.list()).length;
      },
    });
    expect(ran.result).toMatchObject({
      status: 'failed',
      error: {
        code: 'depth_limit',
        message: `Agents can call each other at most ${MAX_DEPTH} levels deep, and this call would be one more: a → b → a → b → a → b → a.`,
      },
    });
    // Each hears of it once and asks once more.
    expect(sessions).toBe(2 ** (MAX_DEPTH + 1) - 1);
  });

  it('may do without the call that was one too deep', async () => {
    const model = speaking((request) => {
      const { messages, turn } = request;
      if (messages.at(-1)?.text.includes('depth_limit')) return '<response>I did it myself.</response>';
      const next = calls(request, 'b') ?? 'a';
      return `${call(`n${turn}`, next)}<response>$n${turn}</response>`;
    });
    const ran = await runAgent({ files, turns: [], model });
    expect(ran.result).toMatchObject({ status: 'completed', result: 'I did it myself.', turns: 1 });
  });
});
