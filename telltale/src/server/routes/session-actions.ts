import type { OpenAPIHono } from '@hono/zod-openapi';
import { cancelSession as endSession, tellToEnd } from '../../agent/ending/cancel-session.ts';
import { hasEnded } from '../../agent/ending/has-ended.ts';
import { eventUnknown } from '../../agent/log/read-log.ts';
import { forkingBy, hearsNoMore, nobodyReads, sendToSession } from '../../agent/messages.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { StreamInfo } from '../../store/store.ts';
import { agentOf, OVER, resumeSession, takeUp, unlessOwned } from '../recovery/pick-up.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { placeHere } from './admitted.ts';
import { chosenModel } from './agents.ts';
import { addOperation } from './operation.ts';
import { cancelled, forked, resumeSession as resumed, said, sessionSummary } from './schemas/sessions.ts';
import { byId } from './schemas/wire.ts';
import { findStream } from './stream-reads.ts';
import type { Summaries } from './summaries.ts';

const tag = 'sessions';

/** Actions of people on sessions. The session's log records who did what. */
export function mountSessionActions(app: OpenAPIHono<AppEnv>, edges: ServerDeps, summaries: Summaries): void {
  const { runtime } = edges;
  const { store } = runtime;
  addOperation(
    app,
    {
      method: 'post',
      path: '/sessions/{id}/steer',
      id: 'steer',
      tag,
      role: 'run',
      summary: 'Send the agent a message',
      description: 'The agent reads it at the start of its next turn.',
      params: byId,
      body: said,
      status: 202,
    },
    async ({ c, caller, params: { id }, body }) => {
      c.set('about', id);
      const fork = `POST /sessions/${id}/fork`;
      if (await hearsNoMore(store, await findStream(store, 'session', id))) throw nobodyReads(id, fork);
      await takeUp(edges, id, () => forkingBy(runtime.steer(id, body.text, caller.by), id, fork));
    },
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/sessions/{id}/say',
      id: 'say',
      tag,
      role: 'run',
      summary: 'The next message of a chat',
      params: byId,
      body: said,
      status: 202,
    },
    async ({ c, caller, params: { id }, body }) => {
      c.set('about', id);
      const info = await findStream(store, 'session', id);
      const { chat } = await summaries.session(info);
      if (chat !== true) throw notAChat(id);
      const first = () => store.send(id, { kind: 'message', from: caller.by, body: body.text });
      if (isOver(info)) await unlessOwned(resumeHere(edges, id, { chat: true, first, by: caller.by }));
      else await takeUp(edges, id, first);
    },
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/sessions/{id}/cancel',
      id: 'cancelSession',
      tag,
      role: 'run',
      summary: 'Cancel a session',
      description: 'Running actions are stopped. Does nothing if the session was already cancelled.',
      params: byId,
      body: cancelled,
      bodyOptional: true,
      status: 202,
    },
    async ({ c, caller, params: { id }, body: { reason } }) => {
      c.set('about', id);
      await cancelSession(edges, await findStream(store, 'session', id), caller.by, reason);
    },
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/sessions/{id}/resume',
      id: 'resumeSession',
      tag,
      role: 'run',
      summary: 'Resume a session that was interrupted, failed, stalled or cancelled',
      params: byId,
      body: resumed,
      bodyOptional: true,
      answer: sessionSummary,
    },
    async ({ c, caller, params: { id }, body: { accept_changes, max_turns } }) => {
      c.set('about', id);
      await findStream(store, 'session', id);
      await resumeHere(edges, id, {
        by: caller.by,
        ...(accept_changes === undefined ? {} : { acceptChanges: accept_changes }),
        ...(max_turns === undefined ? {} : { maxTurns: max_turns }),
      });
      return summaries.session(await findStream(store, 'session', id));
    },
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/sessions/{id}/fork',
      id: 'fork',
      tag,
      role: 'run',
      summary: 'Fork a new session, which continues from an event of this one',
      description: 'It continues with the present manifest, and with the given message, model and variables.',
      params: byId,
      body: forked,
      status: 201,
      answer: sessionSummary,
    },
    async ({ c, caller, params: { id }, body: { seq, message, model, vars } }) => {
      const { head } = await findStream(store, 'session', id);
      if (seq > head) throw eventUnknown(id, seq, head);
      const agent = await agentOf(edges, id);
      const made = await runtime.fork(id, seq, {
        ...(message === undefined ? {} : { message }),
        ...(model === undefined ? {} : { model: chosenModel(model, agent) }),
        ...(vars === undefined ? {} : { vars }),
        ...(agent === undefined ? {} : { agent }),
      });
      c.set('about', made);
      await resumeHere(edges, made, { acceptChanges: true, by: caller.by });
      c.header('location', `/sessions/${made}`);
      return summaries.session(await findStream(store, 'session', made));
    },
  );
}

/** Resumes a session in this process, as requested. Throws `fleet_full` if there is no free slot. */
async function resumeHere(
  edges: ServerDeps,
  id: string,
  options: Parameters<typeof resumeSession>[2],
): Promise<void> {
  const place = await placeHere(edges, 'session', id);
  try {
    await resumeSession(edges, id, options);
  } finally {
    place?.release(); // it has its own slot by now
  }
}

const isOver = ({ status, owner }: StreamInfo): boolean => hasEnded(status) && owner === undefined;

const notAChat = (session: string) =>
  new RuntimeError(
    'not_a_chat',
    `${session} is not a chat. Its agent works on the input it was started with.`,
    {
      hint: `Send it a message: POST /sessions/${session}/steer. Or start a chat: POST /sessions with "chat": true.`,
    },
  );

const DEFAULT_REASON = 'asked to';

/** Cancels a session: through its owner, or immediately if it has none. Does nothing if it was already cancelled. */
export async function cancelSession(
  edges: ServerDeps,
  { stream }: Pick<StreamInfo, 'stream'>,
  by: string,
  reason: string = DEFAULT_REASON,
): Promise<void> {
  const { runtime, clock } = edges;
  const { store } = runtime;
  const tellRun = (run: StreamInfo, why: string) => tellToEnd(runtime, run.stream, why);
  const cancelled = await endSession(store, stream, { reason, by, clock, tellRun });
  if (cancelled.kind === 'ended_before' && cancelled.status !== 'cancelled')
    throw sessionEnded(stream, cancelled.status);
  if (cancelled.kind !== 'to_undo') return;
  await sendToSession(store, stream, { kind: 'cancel', from: by, body: reason });
  const place = runtime.places?.reserve('session', stream);
  // Without a free slot, the message in its inbox makes another process resume it.
  if (runtime.places !== undefined && place === undefined) return;
  try {
    // Resumed by the runtime itself, so a session that has ended meanwhile is not resumed.
    await unlessOwned(resumeSession(edges, stream, { acceptChanges: true }), OVER);
  } finally {
    place?.release();
  }
}

const sessionEnded = (session: string, status: string) =>
  new RuntimeError('session_ended', `${session} has already ended (${status}).`, {
    hint: `See how: GET /sessions/${session}`,
  });
