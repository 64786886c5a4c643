import type { Json } from '../../src/lib/json.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { RunEvent, RunOrigin } from '../../src/log/run-event.ts';
import type { Evidence, StreamLog } from './evidence.ts';
import type { JournalLine } from './journal.ts';
import { TICK_MS } from './lab-project.ts';

/** What a test may change before it is held against the invariants. */
export interface Draft {
  journal: JournalLine[];
  logs: Map<string, DraftLog>;
  seen: Map<string, string[]>;
  completedAt: Map<string, number>;
  owned: { stream: string; epoch: number; owner: string }[];
  asked: { kind: 'start' | 'signal' | 'steer' | 'hook'; token: string; acked: boolean; stream?: string }[];
  undisturbed: Map<string, Json>;
  clocksSet: boolean;
}

interface DraftLog {
  kind: 'session' | 'run';
  name: string;
  status: string;
  left: number;
  events: Body[];
}

export type Body = { type: string; seq?: number; at?: number } & Record<string, unknown>;

const QUIET_AT = 10_000_000;
const own: RunOrigin = { chain: [], agents: [] };

const step = (name: string, output: Json = 'x'): Body[] => [
  { type: 'step.started', step: name, attempt: 1, input: { text: '' }, repeatable: true },
  { type: 'step.completed', step: name, output, ms: 1, attempts: 1 },
];
const run = (
  workflow: string,
  origin: object,
  steps: Body[],
  output: Json,
  input: object = {},
): DraftLog => ({
  kind: 'run',
  name: workflow,
  status: 'completed',
  left: 0,
  events: [
    { type: 'workflow.started', workflow, input, origin: { ...own, ...origin } },
    ...steps,
    { type: 'workflow.completed', output },
  ],
});
const SMALL = [...step('small_keep'), ...step('small_once'), ...step('small_end')];
const note = (tool: string, key: string): JournalLine[] =>
  (['before', 'after'] as const).map((what) => ({ what, tool, key, pid: 1, at: 1 }));
const act = (id: string, name: string, more: object = {}): Body[] => [
  { type: 'action.declared', action: { id, name, kind: 'tool', mode: 'async', parameters: {}, ...more } },
  { type: 'action.started', id, attempt: 1, input: {} },
  { type: 'action.completed', id, output: 'x', ms: 1, attempts: 1 },
];

/** A little of everything, and all of it as it should be. */
export function soundDraft(): Draft {
  const tick = (n: number) =>
    run('tick', { trigger: { id: 'tick#0', seen: { due: n * TICK_MS } } }, SMALL, 'small');
  const logs: Draft['logs'] = new Map<string, DraftLog>([
    ['tick1', tick(1)],
    ['tick2', tick(2)],
    ['hooked', run('hooked', { trigger: { id: 'hooked#0', seen: { id: 'h1' } } }, SMALL, 'small')],
    [
      'chain',
      run(
        'chain',
        {},
        [
          ...step('first'),
          ...step('pay'),
          { type: 'timer.set', id: 'nap', due: 5 },
          { type: 'timer.fired', id: 'nap', at: 6 },
          ...step('each[0]/feed'),
          ...step('each[0]/count'),
          ...step('below', 'deep'),
        ],
        'far',
        { token: 'c1' },
      ),
    ],
    ['chain.below', run('below', { parent: { run: 'chain', step: 'below' } }, step('sub_keep'), 'deep')],
    [
      'signals',
      run(
        'signals',
        {},
        [
          { type: 'signal.received', event: 'custom', data: { n: 'g1' }, from: 'x' },
          { type: 'review.requested', review: 'rev_1' },
          { type: 'review.resolved', review: 'rev_1' },
        ],
        'five',
        { token: 's1' },
      ),
    ],
    [
      'talk',
      {
        kind: 'session',
        name: 'talker',
        status: 'completed',
        left: 0,
        events: [
          { type: 'session.started', input: 'Do all of it: t1-' },
          { type: 'message.received', from: 'steer', text: 'Be quick: q1-' },
          ...act('k1', 'list'),
          ...act('o1', 'once'),
          ...act('k2', 'keep'),
          { type: 'trigger.fired', trigger: 'followup#0', workflow: 'followup', run: 'follow' },
          { type: 'session.completed', result: 'k2 is x.\nk4 is x.' },
        ],
      },
    ],
    [
      'cut',
      {
        kind: 'session',
        name: 'talker',
        status: 'completed',
        left: 0,
        events: [
          { type: 'session.started', input: 'Do all of it.' },
          { type: 'turn.started' },
          { type: 'model.output', text: '<parallel id="g"><action id="k3">{"name":"keep"}</action>' },
          ...act('k3', 'keep', { group: 'g' }),
          { type: 'turn.failed' },
          { type: 'action.declared', action: { id: 'k4', name: 'keep', kind: 'tool' } },
          { type: 'action.skipped', id: 'k4', reason: 'dependency', because: 'g' },
          {
            type: 'session.completed',
            result: 'k2 is x.\nk4 is [unavailable: k4: "g" did not succeed].',
          },
        ],
      },
    ],
    [
      'follow',
      run(
        'followup',
        { session: { id: 'talk', seq: 1 }, trigger: { id: 'followup#0', seen: {} } },
        SMALL,
        'small',
      ),
    ],
  ]);
  const small = (stream: string) => [
    ...note('keep', `${stream}:small_keep`),
    ...note('once', `${stream}:small_once`),
    ...note('keep', `${stream}:small_end`),
  ];
  const journal = [
    ...['tick1', 'tick2', 'hooked', 'follow'].flatMap(small),
    ...note('list', 'chain:first'),
    ...note('once_slow', 'chain:pay'),
    ...note('keep', 'chain:each[0]/feed'),
    ...note('once', 'chain:each[0]/count'),
    ...note('keep', 'chain.below:sub_keep'),
    ...note('list', 'talk:k1'),
    ...note('once', 'talk:o1'),
    ...note('keep', 'talk:k2'),
    ...note('keep', 'cut:k3'),
  ];
  return {
    journal,
    logs,
    seen: new Map(),
    clocksSet: false,
    completedAt: new Map(journal.map(({ key }) => [key, journal.length])),
    owned: [
      { stream: 'chain', epoch: 1, owner: '1/1' },
      { stream: 'chain', epoch: 2, owner: '2/2' },
    ],
    asked: [
      { kind: 'start', token: 'c1', acked: true },
      { kind: 'start', token: 't1-', acked: true },
      { kind: 'signal', token: 'g1', acked: true, stream: 'signals' },
      { kind: 'steer', token: 'q1-', acked: true, stream: 'talk' },
      { kind: 'hook', token: 'h1', acked: true },
      { kind: 'hook', token: 'h2', acked: false },
    ],
    undisturbed: new Map([
      ['hooked', 'small'],
      ['chain', 'far'],
      ['talker', 'k2 is x.\nk4 is x.'],
    ]),
  };
}

/** What is known, where all went as the draft says. */
export function evidenceOf(draft: Draft): Evidence {
  const streams = new Map<string, StreamLog>();
  const lines = new Map<string, readonly string[]>();
  for (const [stream, { kind, name, status, left, events }] of draft.logs) {
    const placed = events.map((body, index) => ({
      seq: index + 1,
      at: index,
      cause: { stream, seq: index, depth: index },
      ...body,
    }));
    const log =
      kind === 'run'
        ? { kind, events: placed as unknown as readonly RunEvent[] }
        : { kind, events: placed as unknown as readonly SessionEvent[] };
    streams.set(stream, { stream, name, status, left, log });
    lines.set(
      stream,
      placed.map((event) => JSON.stringify(event)),
    );
  }
  const seen = new Map([
    ...[...lines].map(([stream, all]) => [stream, all.slice(0, 2)] as const),
    ...draft.seen,
  ]);
  return { ...draft, streams, lines, seen, quietAt: QUIET_AT };
}
