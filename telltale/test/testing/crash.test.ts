import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import type { DefinedTool } from '../../src/agent/define/definitions.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { crashAt, crashEverywhere, crashPoints, resumeEverywhere } from '../../src/testing/crash.ts';
import { expectEvents } from '../../src/testing/expect-events.ts';
import { scripted } from '../../src/testing/scripted.ts';

const TURNS = [
  '<action id="read">{"name":"read"}</action><action id="pay">{"name":"pay","depends_on":["read"]}</action>',
  '<metadata>{"stage":"LATE"}</metadata><response>Paid: $pay</response>',
  // Where the payment was interrupted, the final response is undone, and the model is asked again.
  '<response>It is not known whether it was paid.</response>',
];

/** Whether a payment is made again after a crash is the tool's own word. */
const scenario = (payIsIdempotent: boolean) => ({
  async setUp() {
    const calls: string[] = [];
    const tool = (name: string, idempotent: boolean): DefinedTool =>
      defineTool({
        name,
        idempotent,
        run: async (_, { idempotencyKey }) => {
          calls.push(`${name} ${idempotencyKey}`);
          return `${name} done`;
        },
      });
    const agent = await defineAgent({
      name: 'payer',
      model: scripted(TURNS),
      metadata: { fields: { stage: { values: ['EARLY', 'LATE'], default: 'EARLY' } } },
      tools: [tool('read', true), tool('pay', payIsIdempotent)],
    });
    return { agent, calls };
  },
  input: 'Pay.',
});

const paid = (calls: readonly string[]) => calls.filter((call) => call.startsWith('pay ')).length;

describe('crash points', () => {
  it('are the places a run passes, each with the time it is passed', async () => {
    const points = await crashPoints(scenario(false));
    const names = points.map(({ point }) => point);
    expect(names).toEqual(
      expect.arrayContaining([
        'append:session.started',
        'committed:session.started',
        'perform:read',
        'performed:pay',
        'append:session.completed',
      ]),
    );
    expect(points.filter(({ point }) => point === 'append:turn.started').map(({ nth }) => nth)).toEqual([
      1, 2,
    ]);
  });

  it('at which a run never comes are an error', async () => {
    await expect(crashAt(scenario(false), { point: 'perform:nothing', nth: 1 })).rejects.toMatchObject({
      code: 'crash_point_unknown',
    });
  });
});

describe('a session that is ended at a crash point', () => {
  it('has what was committed before it on its log, and nothing of what came behind', async () => {
    const before = await crashAt(scenario(false), { point: 'append:action.started', nth: 1 });
    expectEvents(before.left).never('action.started');
    const behind = await crashAt(scenario(false), { point: 'committed:action.started', nth: 1 });
    expectEvents(behind.left).inOrder('action.started').never('action.completed');
  });

  it('calls no tool from there on', async () => {
    const { scene, events } = await crashAt(scenario(false), { point: 'perform:pay', nth: 1 });
    expect(paid(scene.calls)).toBe(0);
    expectEvents(events).inOrder({ type: 'action.interrupted', id: 'pay' }, 'session.completed');
  });

  it('may have been there already when it ended', async () => {
    const { left, events, result } = await crashAt(scenario(false), {
      point: 'committed:session.completed',
      nth: 1,
    });
    expect(events).toEqual(left);
    expect(result).toMatchObject({ status: 'completed', result: 'Paid: pay done', turns: 2 });
  });

  it('pays at most once, wherever that is', async () => {
    const places: string[] = [];
    await crashEverywhere(
      scenario(false),
      ({ scene, where, events, result }) => {
        places.push(where);
        expect(result.status).toBe('completed');
        expect(paid(scene.calls)).toBeLessThanOrEqual(1);
        expectEvents(events).times(1, 'session.completed').times(1, 'session.started');
      },
      { every: true },
    );
    expect(places.length).toBeGreaterThan(30);
  });

  it('pays again under the same key where that is allowed', async () => {
    const { scene, events } = await crashAt(scenario(true), { point: 'performed:pay', nth: 1 });
    expect(scene.calls.slice(-2)).toEqual([`pay ${events[0]?.session}:pay`, `pay ${events[0]?.session}:pay`]);
  });

  it('is shown with all places that were not survived', async () => {
    const wrong = await crashEverywhere(scenario(false), ({ scene }) => {
      expect(paid(scene.calls)).toBe(1); // some kills leave it unpaid
    }).catch((error) => error);
    expect(wrong).toMatchObject({ code: 'not_survived' });
    expect(wrong.message).toMatch(/^Of \d+ places \d+ were not survived:\n\S+:.*: expected \+?0 to be 1/);
  });
});

describe('a log that is cut behind any of its appends', () => {
  it('comes to its end', async () => {
    let places = 0;
    await resumeEverywhere(scenario(true), ({ left, events, result }) => {
      places++;
      expect(result).toMatchObject({ status: 'completed', result: 'Paid: pay done' });
      expect(events.slice(0, left.length)).toEqual(left);
    });
    expect(places).toBeGreaterThan(8);
  });

  it('names the place where a check failed', async () => {
    const wrong = await resumeEverywhere(scenario(true), ({ left }) => {
      if (left.length > 5) throw new Error('too long');
    }).catch((error) => error);
    expect(wrong).toMatchObject({
      code: 'not_survived',
      message: expect.stringMatching(/behind event \d+: too long/),
    });
  });
});
