import type { AgentDetails, ReviewDetailsInfo } from '../../telltale/src/client/api.ts';
import type { Followed, TelltaleClient } from '../../telltale/src/client/client.ts';
import { RuntimeError } from '../../telltale/src/lib/errors.ts';
import type { SessionEvent } from '../../telltale/src/log/event.ts';
import type { RunEvent } from '../../telltale/src/log/run-event.ts';
import { foldSummary } from '../../telltale/src/log/session-summary.ts';
import { fixtureAgents } from './fixture-agents.ts';
import { fixtureReviews } from './fixture-reviews.ts';
import { fixtureSession, STATES } from './fixture-sessions.ts';

export interface FixtureOptions {
  readonly sessions: number;
  readonly offline: boolean;
  readonly refused: boolean;
}

const TICK_MS = 1_500;

/** A server in the page, to work on the look of the console without one: every state that a list can be in. */
export function makeFixtureClient({ sessions: count, offline, refused }: FixtureOptions): TelltaleClient {
  const now = Date.now();
  const sessions = new Map(
    Array.from({ length: count }, (_, n) => fixtureSession(n, now)).map(({ id, summary }) => [id, summary]),
  );
  const reviews = new Map<string, ReviewDetailsInfo>(
    (count === 0 ? [] : fixtureReviews(now)).map((review) => [review.review, review]),
  );
  const listeners = new Set<(told: Followed<SessionEvent | RunEvent>) => void>();
  const tell = (event: SessionEvent) => {
    const before = sessions.get(event.session);
    if (before !== undefined) sessions.set(event.session, foldSummary(before, event));
    for (const listener of listeners) listener({ kind: 'event', event });
  };
  const next = (id: string, body: object) => {
    const { seq, turn } = sessions.get(id)!;
    tell({
      seq: seq + 1,
      at: Date.now(),
      session: id,
      turn,
      cause: { stream: id, seq, depth: 1 },
      ...body,
    } as SessionEvent);
  };
  let ticks = 0;
  setInterval(() => {
    ticks++;
    for (const { id, status } of [...sessions.values()].slice(0, 40)) {
      if (status !== 'running') continue;
      if (ticks % 4 === 0)
        next(id, {
          type: 'metadata.changed',
          by: 'model',
          changes: { status: { from: null, to: STATES[ticks % 6] } },
        });
      next(id, {
        type: 'turn.completed',
        usage: { input: 900, output: 120 },
        cost_usd: 0.0009,
        ms: 1,
        first_token_ms: 1,
        finish: 'stop',
      });
    }
  }, TICK_MS);
  const refusal = () =>
    new RuntimeError('token_missing', 'This server wants a token.', { hint: 'Give one.' });
  const known: Partial<TelltaleClient> = {
    async whoami() {
      if (refused) throw refusal();
      return {
        name: 'ana',
        by: 'user:ana',
        role: 'admin',
        version: '0.9.0',
        dev: true,
        store: 'sqlite:./telltale.db',
      };
    },
    async sessions({ status, agent, cursor, limit = 50 } = {}) {
      const all = [...sessions.values()].filter(
        (one) =>
          (status === undefined || status.includes(one.status)) &&
          (agent === undefined || agent === one.agent),
      );
      const from = Number(cursor ?? 0);
      const items = all.slice(from, from + limit);
      return from + limit < all.length ? { items, next: String(from + limit) } : { items };
    },
    async session(id) {
      return sessions.get(id)!;
    },
    async agents() {
      return { items: fixtureAgents(now).map(({ manifest: _m, files: _f, ...info }: AgentDetails) => info) };
    },
    async agent(name) {
      const found = fixtureAgents(now).find((one) => one.name === name);
      if (found === undefined) throw new RuntimeError('agent_unknown', `No agent is named "${name}".`);
      return found;
    },
    async reviews() {
      return { items: [...reviews.values()].filter(({ answer }) => answer === undefined) };
    },
    async review(id) {
      return reviews.get(id)!;
    },
    async answerReview(id, { answer, choice, note }) {
      const review = reviews.get(id)!;
      if (id === 'rev_taken')
        throw new RuntimeError('review_answered', 'The review was rejected by "ann" 2 minutes ago.');
      const answered = { answer: answer ?? 'approved', by: 'user:ana', answeredAt: Date.now() };
      const details = { ...review, ...answered, ...(choice && { choice }), ...(note && { note }) };
      reviews.set(id, details);
      return details;
    },
    followAll(listener) {
      listeners.add(listener);
      const error = { code: 'unreachable', message: 'The server cannot be reached.', retryable: true };
      queueMicrotask(() => listener({ kind: 'open', after: 0 }));
      if (offline) setTimeout(() => listener({ kind: 'lost', error, retryInMs: 9_000 }), 400);
      return () => listeners.delete(listener);
    },
  };
  return new Proxy(known as TelltaleClient, {
    get: (target, key) =>
      Reflect.get(target, key) ??
      (() => Promise.reject(new RuntimeError('not_served', `The fixture has no ${String(key)}.`))),
  });
}
