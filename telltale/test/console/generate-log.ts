import type { Cause, EventBody, SessionEvent } from '../../src/log/event.ts';

export interface LogShape {
  readonly session?: string;
  readonly turns: number;
  /** Actions of each turn. */
  readonly actions: number;
  readonly startAt?: number;
  /** Milliseconds that a person takes to answer after every tenth turn; none by default. */
  readonly personMs?: number;
  /** The session has not ended, and its last turn goes on. */
  readonly open?: boolean;
}

const TOOLS = ['filesystem', 'shell', 'http_fetch', 'run_tests', 'search', 'git'] as const;
const STATES = ['PLANNING', 'CODING', 'TESTING', 'REVIEWING'] as const;

/** The same numbers in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Timed {
  readonly at: number;
  readonly body: EventBody;
}

/**
 * A log as a session of the given size would write it: turns whose actions start while the model speaks, wait for each
 * other and for places, fail and are tried again; metadata, variables, feeds, faults and workflows beside them.
 */
export function generateLog(shape: LogShape): SessionEvent[] {
  const { session = 'ses_generated', turns, actions, startAt = 1_790_000_000_000, personMs = 0 } = shape;
  const random = seeded(turns * 31 + actions);
  const events: SessionEvent[] = [];
  let turn = 0;
  let turnSeq = 1;
  const write = ({ at, body }: Timed): void => {
    const seq = events.length + 1;
    const cause: Cause = { stream: session, seq: seq === 1 ? 0 : turnSeq, depth: Math.min(seq, 2) };
    events.push({ seq, at: startAt + Math.round(at), session, turn, cause, ...body } as SessionEvent);
  };

  write({ at: 0, body: STARTED });
  let at = 20;
  for (turn = 1; turn <= turns; turn++) {
    const isLast = turn === turns;
    turnSeq = events.length + 1;
    write({ at, body: { type: 'turn.started', prompt: { tokens: 3_000 + turn * 120, reused_prefix: 1 } } });
    const { timed, end } = turnOf({ turn, actions, at, random, isFinal: isLast && shape.open !== true });
    for (const each of timed) if (shape.open !== true || !isLast || each.at < at + 900) write(each);
    at = end + 10;
    if (personMs > 0 && turn % 10 === 0 && !isLast) {
      write({ at, body: { type: 'session.waiting', for: 'message' } });
      at += personMs;
      write({
        at,
        body: { type: 'message.received', from: 'user', text: `Go on with part ${turn / 10 + 1}.` },
      });
    }
  }
  turn = turns;
  if (shape.open !== true) write({ at, body: { type: 'session.completed', result: 'All of it is done.' } });
  return events;
}

const STARTED: EventBody = {
  type: 'session.started',
  agent: 'generated_agent',
  input: 'Do a great many things, one beside the other.',
  manifest: { path: 'agent.yml', hash: 'generated' },
  model: 'scripted:generated',
  vars: { git: true },
  metadata: { status: 'IDLE', progress: 0 },
  states: ['status'],
};

interface TurnShape {
  readonly turn: number;
  readonly actions: number;
  readonly at: number;
  readonly random: () => number;
  readonly isFinal: boolean;
}

function turnOf({ turn, actions, at, random, isFinal }: TurnShape): { timed: Timed[]; end: number } {
  const timed: Timed[] = [];
  const push = (time: number, body: EventBody) => timed.push({ at: time, body });
  const gap = 60 + random() * 40;
  const speech = 300 + actions * gap;
  const state = STATES[turn % STATES.length] ?? 'CODING';
  const changes = {
    status: { from: STATES[(turn - 1) % STATES.length] ?? 'IDLE', to: state },
    progress: { from: turn - 1, to: turn },
  };
  push(at + 90, { type: 'metadata.changed', changes, by: 'model' });
  push(at + 95, workflowFired(turn));
  push(at + 200, { type: 'thought', text: THOUGHT, depth: 0 });
  let end = at + speech;
  const ends: number[] = [];
  for (let nth = 0; nth < actions; nth++) {
    const declared = at + 250 + nth * gap;
    const last = actionOf({ turn, nth, declared, random, ends, push });
    ends.push(last);
    end = Math.max(end, last);
  }
  push(at + speech * 0.6, { type: 'fault', code: 'unknown_field', message: 'Metadata has no field "mood".' });
  push(at + speech - 5, { type: 'model.output', offset: 0, text: '<response>…</response>' });
  push(at + speech, {
    type: 'turn.completed',
    usage: { input: 3_000 + turn * 120, output: 200 + actions * 40 },
    cost_usd: 0.004,
    ms: speech,
    first_token_ms: 85,
    finish: 'stop',
  });
  push(at + 95 + 1_400, {
    type: 'workflow.completed',
    run: `run_${turn}`,
    workflow: 'keep_docs',
    output: null,
  });
  push(end + 2, { type: 'response', text: `Part ${turn} is done.`, final: isFinal });
  timed.sort((a, b) => a.at - b.at);
  return { timed, end: Math.max(end + 2, at + 1_495) };
}

const THOUGHT =
  'What is needed here can be read side by side, so all of it is asked for at once; what depends on another waits for it.';

const workflowFired = (turn: number): EventBody => ({
  type: 'trigger.fired',
  trigger: 'keep_docs#0',
  workflow: 'keep_docs',
  run: `run_${turn}`,
  seen: { type: 'metadata_match' },
  chain: ['keep_docs'],
});

interface ActionShape {
  readonly turn: number;
  readonly nth: number;
  readonly declared: number;
  readonly random: () => number;
  readonly ends: readonly number[];
  readonly push: (at: number, body: EventBody) => void;
}

/** Writes what becomes of one action, and says when it ends. */
function actionOf({ turn, nth, declared, random, ends, push }: ActionShape): number {
  const id = `t${turn}a${nth}`;
  const name = TOOLS[Math.floor(random() * TOOLS.length)] ?? 'shell';
  const parameters = { path: `src/part-${nth}.ts`, operation: 'read' };
  const waits = nth > 0 && nth % 5 === 4;
  const dependsOn = waits ? { depends_on: [`t${turn}a${nth - 1}`] } : {};
  push(declared, {
    type: 'action.declared',
    action: { id, kind: 'tool', mode: 'async', name, parameters, ...dependsOn },
  });
  let at = declared + 1;
  if (waits) at = Math.max(at, (ends[nth - 1] ?? at) + 1);
  else if (nth % 7 === 6) at += 150;
  const ms = 80 + random() * 900;
  push(at, { type: 'action.started', id, attempt: 1, input: parameters });
  const error = { code: 'tool_failed', message: 'The host did not answer.', retryable: true };
  if (nth % 11 === 10) {
    at += ms / 2;
    push(at, { type: 'action.retrying', id, attempt: 2, error, delay_ms: 200 });
    at += 200;
    push(at, { type: 'action.started', id, attempt: 2, input: parameters });
  }
  at += ms;
  if (nth % 17 === 16) push(at, { type: 'action.failed', id, error, ms, attempts: 1 });
  else
    push(at, {
      type: 'action.completed',
      id,
      output: { content: `part ${nth}`, lines: nth },
      ms,
      attempts: 1,
    });
  return at;
}
