import { describe, expect, it } from 'vitest';
import { copyOf, MAX_COPIED } from '../../../src/agent/children/copy-event.ts';
import type { ChildEventBody, EventBody, SessionEvent } from '../../../src/log/event.ts';
import { fold } from '../../../src/log/reduce.ts';
import { tool } from '../run-agent.ts';
import { createRecordingStore } from './recording-store.ts';
import { call, runTeam } from './run-team.ts';

const COPIED = [
  'thought',
  'text',
  'response',
  'turn.completed',
  'turn.failed',
  'action.completed',
  'action.failed',
  'metadata.changed',
];

const busy = {
  manifest: 'metadata: { fields: { mood: { type: string } } }\nimport: { tools: [../tools/*.yml] }\n',
  turns: [
    'Prose. <thought>I think.</thought><metadata>{"mood":"good"}</metadata><action id="t" mode="sync">{"name":"pick"}</action><action id="f" mode="sync">{"name":"none"}</action><response final="false">Half.</response>',
    '<response>Whole.</response>',
  ],
};

describe("a parent's log", () => {
  it("holds a sub-agent's texts, turn ends, results and changes of metadata, in order, and nothing else", async () => {
    const ran = await runTeam(
      { busy },
      { files: tool('pick', 'return ["a"];'), turns: [`${call('a1', 'busy')}<response>$a1</response>`] },
    );
    const wanted = ran
      .child('a1')
      .flatMap(({ type, seq }) => (COPIED.includes(type) ? [`${seq} child.${type}`] : []));
    const copies = ran.events.filter((event): event is SessionEvent & ChildEventBody => 'child' in event);
    expect(copies.map(({ type, child }) => `${child.seq} ${type}`)).toEqual(wanted);
    expect(new Set(wanted.map((line) => line.split(' ')[1])).size).toBe(COPIED.length - 1);
    expect(new Set(copies.map(({ action, child }) => `${action} ${child.session}`))).toEqual(
      new Set([`a1 ${ran.result.session}.a1`]),
    );
    expect(ran.of('child.action.completed')).toMatchObject([{ event: { id: 't', output: ['a'] } }]);
    expect(ran.of('child.metadata.changed')).toMatchObject([
      { event: { changes: { mood: { from: null, to: 'good' } }, by: 'model' } },
    ]);
    const [end] = ran.of('action.completed');
    expect(copies.every(({ seq }) => seq < (end?.seq ?? 0))).toBe(true);
  });

  it('gets nothing that is not committed on the log of the sub-agent', async () => {
    const store = createRecordingStore();
    const ran = await runTeam(
      { busy },
      {
        files: tool('pick', 'return 1;'),
        turns: [`${call('a1', 'busy')}<response>$a1</response>`],
        runtime: { store },
      },
    );
    expect(ran.of('child.response')).toHaveLength(2);
    expect(store.early).toEqual([]);
  });
});

describe('a copy', () => {
  const at = (body: EventBody): SessionEvent => ({
    ...body,
    seq: 7,
    at: 0,
    session: 'ses_c',
    turn: 1,
    cause: { stream: 'ses_c', seq: 1, depth: 1 },
  });
  const long = 'x'.repeat(MAX_COPIED * 3);

  it('of a long text holds its beginning and its end', () => {
    const copy = copyOf(at({ type: 'response', text: `begin ${long} end`, final: true }), 'a1');
    const text = copy?.type === 'child.response' ? copy.event.text : '';
    expect(text).toMatch(/^begin x+\n… \d+ characters left out …\nx+ end$/);
    expect(text.length).toBeLessThan(MAX_COPIED + 100);
  });

  it.each<[string, EventBody]>([
    ['a result', { type: 'action.completed', id: 't', output: { rows: [long] }, ms: 1, attempts: 1 }],
    [
      'an error',
      {
        type: 'action.failed',
        id: 't',
        error: { code: 'x', message: long, retryable: false },
        ms: 1,
        attempts: 1,
      },
    ],
    ['a thought', { type: 'thought', text: long, depth: 0 }],
    ['metadata', { type: 'metadata.changed', changes: { f: { from: null, to: [long] } }, by: 'model' }],
  ])('of %s is of bounded size', (_, body) => {
    expect(JSON.stringify(copyOf(at(body), 'a1')).length).toBeLessThan(MAX_COPIED + 400);
  });

  it('of what a model outside of turns, a summary or a sub-agent of its own used is what the sub-agent used', () => {
    const usage = { input: 3, output: 4 };
    const place = { action: 'b1', child: { session: 'ses_d', seq: 1 } };
    const turn = { usage, cost_usd: 0.5, ms: 1, first_token_ms: 1, finish: 'stop' } as const;
    const bodies: readonly EventBody[] = [
      { type: 'custom', name: 'llm.usage', data: { ...usage, cost_usd: 0.5 } },
      { type: 'prompt.compacted', through: 1, summary: 's', usage, cost_usd: 0.5 },
      { type: 'child.turn.completed', ...place, event: turn },
      { type: 'child.usage', ...place, usage, cost_usd: 0.5 },
    ];
    for (const body of bodies)
      expect(copyOf(at(body), 'a1')).toEqual({
        type: 'child.usage',
        action: 'a1',
        child: { session: 'ses_c', seq: 7 },
        usage,
        cost_usd: 0.5,
      });
    expect(copyOf(at({ type: 'custom', name: 'other', data: 1 }), 'a1')).toBeUndefined();
    expect(copyOf(at({ type: 'child.text', ...place, event: { text: 'x' } }), 'a1')).toBeUndefined();
  });
});

describe('folding', () => {
  it('knows how far the log of each sub-agent was copied, until its action has ended', async () => {
    const ran = await runTeam(
      { busy },
      {
        files: tool('pick', 'return 1;'),
        turns: [`${call('a1', 'busy')}${call('a2', 'busy')}<response>$a1</response>`],
      },
    );
    const copied = new Map<string, number>();
    for (const [index, event] of ran.events.entries()) {
      if ('child' in event) copied.set(event.action, event.child.seq);
      else if (event.type === 'action.completed') copied.delete(event.id);
      const { children } = fold(ran.events.slice(0, index + 1));
      expect(new Map(children.map(({ action, seq }) => [action, seq]))).toEqual(copied);
    }
    expect(copied.size).toBe(0);
  });
});
