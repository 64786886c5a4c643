import { createSystemClock } from '../kernel/clock.ts';
import { createCaller, type Query } from './call.ts';
import type { CallOptions, ClientOptions, TelltaleClient } from './client.ts';
import { type FollowDeps, follow } from './follow.ts';

/** A client of a Telltale server, for Node and for browsers. */
export function createClient(options: ClientOptions = {}): TelltaleClient {
  const caller = createCaller(options);
  const edges: FollowDeps = { caller, clock: createSystemClock(), random: Math.random };
  const get = <Answer>(path: string, query?: object, call?: CallOptions): Promise<Answer> =>
    caller.json({ path, ...(query === undefined ? {} : { query: query as Query }), ...call });
  const post = <Answer>(path: string, body?: object, call?: CallOptions): Promise<Answer> =>
    caller.json({ method: 'POST', path, ...(body === undefined ? {} : { body }), ...call });
  const tell = (path: string, body: object, call?: CallOptions): Promise<void> =>
    caller.done({ method: 'POST', path, body, ...call });

  return {
    health: (call) => get('/healthz', undefined, call),
    ready: (call) => get('/readyz', undefined, call),
    whoami: (call) => get('/whoami', undefined, call),
    fleet: (call) => get('/fleet', undefined, call),
    retryStream: (id, call) => tell(at`/fleet/${id}/retry`, {}, call),

    agents: (call) => get('/agents', undefined, call),
    agent: (name, call) => get(at`/agents/${name}`, undefined, call),
    reloadAgents: (call) => post('/agents/reload', undefined, call),
    workflows: (call) => get('/workflows', undefined, call),

    sessions: (query, call) => get('/sessions', query, call),
    session: (id, call) => get(at`/sessions/${id}`, undefined, call),
    startSession: (start, call) => post('/sessions', start, call),
    sessionEvents: (id, query, call) => get(at`/sessions/${id}/events`, query, call),
    sessionState: (id, seq, call) => get(at`/sessions/${id}/state`, { seq }, call),
    sessionPrompt: (id, turn, call) =>
      get(at`/sessions/${id}/prompts/${turn === undefined ? 'last' : String(turn)}`, undefined, call),
    followSession: (id, listener, { after = 0, live = true } = {}) =>
      follow(edges, {
        path: at`/sessions/${id}/events`,
        ...(live ? {} : { query: { live: '0' } }),
        after,
        listener,
        numbered: true,
      }),
    steer: (id, text, call) => tell(at`/sessions/${id}/steer`, { text }, call),
    say: (id, text, call) => tell(at`/sessions/${id}/say`, { text }, call),
    cancelSession: (id, reason, call) => tell(at`/sessions/${id}/cancel`, { reason }, call),
    resumeSession: (id, resume = {}, call) => post(at`/sessions/${id}/resume`, resume, call),
    fork: (id, fork, call) =>
      post(at`/sessions/${id}/fork`, typeof fork === 'number' ? { seq: fork } : fork, call),
    why: (stream, seq, call) => get(at`/streams/${stream}/events/${String(seq)}/why`, undefined, call),

    runs: (query, call) => get('/runs', query, call),
    run: (id, call) => get(at`/runs/${id}`, undefined, call),
    startRun: (start, call) => post('/runs', start, call),
    runState: (id, seq, call) => get(at`/runs/${id}/state`, { seq }, call),
    runEvents: (id, query, call) => get(at`/runs/${id}/events`, query, call),
    followRun: (id, listener, { after = 0, live = true } = {}) =>
      follow(edges, {
        path: at`/runs/${id}/events`,
        ...(live ? {} : { query: { live: '0' } }),
        after,
        listener,
        numbered: true,
      }),
    cancelRun: (id, reason, call) => tell(at`/runs/${id}/cancel`, { reason }, call),
    resumeRun: (id, resume = {}, call) => post(at`/runs/${id}/resume`, resume, call),
    runChanges: (id, call) => get(at`/runs/${id}/changes`, undefined, call),
    signalRun: (id, event, data, call) => tell(at`/runs/${id}/signal`, { event, data }, call),

    followAll: (listener) => follow(edges, { path: '/events', after: 0, listener, numbered: false }),

    reviews: (query, call) => get('/reviews', query, call),
    review: (id, call) => get(at`/reviews/${id}`, undefined, call),
    answerReview: (id, answer, call) => post(at`/reviews/${id}`, answer, call),

    artifacts: (query, call) => get('/artifacts', query, call),
    artifact: (name, call) => get(at`/artifacts/${name}`, undefined, call),
    writeArtifact: (name, body, call) =>
      caller.json({ method: 'PUT', path: at`/artifacts/${name}`, body, ...call }),
    rollbackArtifact: (name, to, call) => post(at`/artifacts/${name}/rollback`, { to }, call),
    testArtifact: (name, test, call) => post(at`/artifacts/${name}/test`, test, call),

    queryMemory: (query, call) => post('/memory/query', query, call),
    memoryStats: (agent, call) => get('/memory/stats', { agent }, call),

    notifications: (query, call) => get('/notifications', query, call),
    retryNotification: (id, call) => post(at`/notifications/${id}/retry`, undefined, call),
    audit: (query, call) => get('/audit', query, call),

    tokens: (call) => get('/tokens', undefined, call),
    createToken: (token, call) => post('/tokens', token, call),
    revokeToken: (name, call) => caller.done({ method: 'DELETE', path: at`/tokens/${name}`, ...call }),

    openapi: (call) => get('/openapi.json', undefined, call),
  };
}

/** A path with names in it, each encoded; empty where one cannot be. */
const at = (texts: TemplateStringsArray, ...names: readonly string[]): string =>
  names.some((name) => name === '' || name === '.' || name === '..')
    ? ''
    : texts.reduce((path, text, index) => `${path}${encodeURIComponent(names[index - 1] ?? '')}${text}`);
