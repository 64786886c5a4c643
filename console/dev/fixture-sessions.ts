import type { SessionEvent } from '../../telltale/src/log/event.ts';
import { emptySummary, foldSummary, type SessionSummary } from '../../telltale/src/log/session-summary.ts';

const TITLES = [
  'Add a --json flag to the export command and document it',
  'Why does the nightly build fail on arm64?',
  'Rename `userId` to `accountId` across the API, with a migration',
  'Summarise the incident of last night for the status page',
  'Upgrade to the next major of the router, mend what breaks',
  'Find out who calls the deprecated billing endpoint',
  'Write the release notes of 1.4',
];
const STATES = ['PLANNING', 'READING', 'CODING', 'TESTING', 'REVIEWING', 'DONE'];
const AGENTS = ['coder', 'researcher', 'release-manager'];
const ENDS = ['running', 'completed', 'waiting', 'failed', 'completed', 'stalled', 'completed', 'cancelled'];

/** A session as the log would tell it, folded; the same for the same number. */
export function fixtureSession(n: number, now: number): { summary: SessionSummary; id: string } {
  const id = `ses_${String(1_000_000 - n).padStart(10, '0')}`;
  const end = ENDS[n % ENDS.length]!;
  const start = now - n * 17 * 60_000 - 95_000;
  let seq = 0;
  let summary = emptySummary(id);
  const tell = (at: number, turn: number, body: object) => {
    const event = { seq: ++seq, at, session: id, turn, cause: { stream: id, seq: 0, depth: 0 }, ...body };
    summary = foldSummary(summary, event as SessionEvent);
  };
  const states = n % 5 === 4 ? [] : ['status'];
  tell(start, 0, {
    type: 'session.started',
    agent: AGENTS[n % 3],
    model: n % 2 ? 'anthropic:claude' : 'scripted:demo.yml',
    input: TITLES[n % TITLES.length],
    manifest: { path: 'agent.yml', hash: '' },
    states,
    ...(n % 11 === 3
      ? {
          parent: {
            session: `ses_${String(1_000_000 - n + 1).padStart(10, '0')}`,
            action: 'a1',
            agents: ['coder'],
          },
        }
      : {}),
  });
  const many = 2 + (n % 5);
  for (let turn = 1; turn <= many; turn++) {
    const at = start + turn * 11_000 + (n % 7) * 1_300;
    const changes = { status: { from: null, to: STATES[(turn - 1 + (n % 2)) % STATES.length]! } };
    tell(at, turn, { type: 'turn.started', prompt: { tokens: 1200, reused_prefix: 1 } });
    tell(at + 900, turn, { type: 'metadata.changed', changes, by: 'model' });
    const usage = { input: 1_800 * turn, output: 340 + n * 7 };
    tell(at + 6_000, turn, {
      type: 'turn.completed',
      usage,
      cost_usd: 0.0021 * turn,
      ms: 6000,
      first_token_ms: 300,
      finish: 'stop',
    });
  }
  const at = start + 80_000;
  if (n % 4 === 0)
    tell(at, many, {
      type: 'trigger.fired',
      trigger: 'docs#0',
      workflow: 'docs',
      run: `run_${n}`,
      seen: {},
      chain: [],
    });
  const error = {
    code: end === 'failed' ? 'limit_turns' : 'model_unreachable',
    message: 'It used all of its turns.',
    retryable: false,
  };
  if (end === 'waiting') {
    tell(at, many, { type: 'review.requested', review: `rev_${n}` });
    tell(at, many, { type: 'session.waiting', for: 'review' });
  } else if (end === 'completed') tell(at, many, { type: 'session.completed', result: 'The flag is there.' });
  else if (end === 'failed') tell(at, many, { type: 'session.failed', error });
  else if (end === 'stalled') tell(at, many, { type: 'session.stalled', error });
  else if (end === 'cancelled')
    tell(at, many, { type: 'session.cancelled', reason: 'no longer needed', by: 'ann' });
  return { summary, id };
}

export { STATES };
