import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../../src/models/model.ts';
import { call, calls, runTeam, speaking } from './run-team.ts';

const isChild = ({ messages }: ModelRequest) => messages[0]?.text.includes('called you') === true;
const usage = { input: 90, output: 10 };
/** The caller asks, then answers; those that it calls go on for ever. */
const tireless = (asked: string) =>
  speaking(
    (request) =>
      isChild(request)
        ? `<response final="false">Part ${request.turn}.</response>`
        : request.turn === 1
          ? asked
          : '<response>Ok.</response>',
    { usage, price: { input: 1000, output: 1000 } },
  );

describe('what a sub-agent uses', () => {
  it('counts for its caller, and for the callers above', async () => {
    const model = speaking(
      (request) => {
        const next = calls(request, 'mid', 'leaf');
        return next === undefined
          ? '<response>Leaf.</response>'
          : `${call('n', next)}<response>$n</response>`;
      },
      { usage, price: { input: 1000, output: 1000 } },
    );
    const ran = await runTeam(
      { mid: { manifest: 'import: { agents: [./low/leaf.yml] }\n' } },
      { files: { 'team/low/leaf.yml': 'kind: Agent\nname: leaf\n' }, turns: [], model },
    );
    expect(ran.result).toMatchObject({
      result: 'Leaf.',
      turns: 1,
      usage: { input: 270, output: 30 },
      cost_usd: expect.closeTo(0.3),
    });
    expect(ran.of('child.usage')).toMatchObject([{ action: 'n', usage: { input: 90, output: 10 } }]);
  });

  it('never goes beyond the tokens that its caller has left', async () => {
    const ran = await runTeam(
      { slow: {} },
      { turns: [], model: tireless(call('a1', 'slow')), manifest: 'limits: { tokens: 450 }\n' },
    );
    expect(ran.childOf('a1', 'turn.completed')).toHaveLength(4);
    expect(ran.of('action.failed')).toMatchObject([
      {
        id: 'a1',
        error: {
          code: 'limit_tokens',
          message: expect.stringContaining(
            `The limit of 450 tokens (500 used) of the agent "tester" (${ran.result.session}) is used up.`,
          ),
        },
      },
    ]);
    expect(ran.result).toMatchObject({ status: 'failed', error: { code: 'limit_tokens' } });
  });

  it('never goes beyond the cost that its caller has left', async () => {
    const ran = await runTeam(
      { slow: {} },
      { turns: [], model: tireless(call('a1', 'slow')), manifest: 'limits: { cost_usd: 0.25 }\n' },
    );
    expect(ran.childOf('a1', 'turn.completed')).toHaveLength(2);
    expect(ran.of('action.failed')).toMatchObject([{ error: { code: 'limit_cost_usd' } }]);
  });

  it('by several side by side goes beyond it by no more than the turns that they are in', async () => {
    const three = ['a1', 'a2', 'a3'].map((id) => call(id, 'slow')).join('');
    const ran = await runTeam(
      { slow: {} },
      { turns: [], model: tireless(three), manifest: 'limits: { tokens: 1000 }\n' },
    );
    expect(ran.of('action.failed').map(({ error }) => error.code)).toEqual(Array(3).fill('limit_tokens'));
    const { input, output } = ran.result.usage;
    expect(input + output).toBeGreaterThanOrEqual(1000);
    expect(input + output).toBeLessThan(1000 + 3 * 100);
  });

  it('is bounded by a limit two callers above, too', async () => {
    const model = speaking(
      (request) => {
        const next = calls(request, 'mid', 'leaf');
        if (next === undefined) return '<response final="false">More.</response>';
        return request.messages.length > 1 ? '<response>Ok.</response>' : call('n', next);
      },
      { usage },
    );
    const ran = await runTeam(
      { mid: { manifest: 'import: { agents: [./low/leaf.yml] }\n' } },
      {
        files: { 'team/low/leaf.yml': 'kind: Agent\nname: leaf\n' },
        turns: [],
        model,
        manifest: 'limits: { tokens: 600 }\n',
      },
    );
    expect(ran.childOf('n.n', 'turn.completed')).toHaveLength(4);
    expect(ran.childOf('n.n', 'session.failed')).toMatchObject([{ error: { code: 'limit_tokens' } }]);
  });
});

describe('a sub-agent', () => {
  it('ends at a limit of its own, which is the code of the action', async () => {
    const ran = await runTeam(
      { slow: { manifest: 'limits: { turns: 2 }\n' } },
      { turns: [], model: tireless(call('a1', 'slow', {}, 'sync')) },
    );
    expect(ran.of('action.failed')).toMatchObject([
      { error: { code: 'limit_turns', message: expect.stringContaining('The agent "slow" (') } },
    ]);
    expect(ran.result).toMatchObject({ status: 'completed' });
    expect(ran.childOf('a1', 'session.failed')[0]?.error.hint).not.toContain('telltale resume');
  });

  it('begins with no more than the balance of its caller, who pays for it', async () => {
    const ran = await runTeam(
      { slow: { manifest: 'budget: { balance: 100, costs: { turn: 2 } }\n' } },
      {
        turns: [],
        model: tireless(call('a1', 'slow')),
        manifest: 'budget: { balance: 6, costs: { turn: 1 } }\n',
      },
    );
    expect(ran.childOf('a1', 'session.started')).toMatchObject([{ balance: 5 }]);
    expect(ran.of('action.failed')).toMatchObject([{ error: { code: 'limit_budget' } }]);
    expect(ran.of('child.usage').map(({ charged }) => charged)).toEqual([2, 2, 2]);
    expect(ran.result).toMatchObject({ status: 'failed', error: { code: 'limit_budget' } });
  });

  it('that has come to nothing stalls, and the caller hears of it', async () => {
    const model = speaking((request) => {
      if (isChild(request)) return ' ';
      return request.turn === 1 ? call('a1', 'slow', {}, 'sync') : '<response>Ok.</response>';
    });
    const ran = await runTeam({ slow: {} }, { turns: [], model });
    expect(ran.of('action.failed')).toMatchObject([{ error: { code: 'agent_stalled' } }]);
  });
});
