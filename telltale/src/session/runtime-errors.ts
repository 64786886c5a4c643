import type { LaidAside, WhyNot, WorkOffer } from '../engine/fleet/work-queue.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';

export const sessionQuarantined = (session: string) =>
  new RuntimeError('quarantined', `${session} is quarantined. It does not continue until you resume it.`, {
    hint: `To see why: telltale show ${session}. To continue: telltale resume ${session}`,
  });

export const laidAside = ({ stream, why }: LaidAside) =>
  new RuntimeError('laid_aside', `${stream} is quarantined, since no worker can go on with it: ${why}`, {
    hint: `Fix that, then have it tried again: telltale fleet retry ${stream}`,
  });

export const workRetried = ({ stream }: WorkOffer, { code, message }: WhyNot) =>
  new RuntimeError('work_retried', `Work on ${stream} failed and is tried again: ${message} [${code}]`, {
    hint: 'It is offered again after a pause, and quarantined when it keeps failing. See: telltale fleet',
    retryable: true,
  });

export const runtimeClosed = () =>
  new RuntimeError('runtime_closed', 'The runtime was closed.', { hint: 'Create another one.' });

export const streamUnknown = (stream: string, location: string) =>
  new RuntimeError('session_unknown', `No session or run "${stream}" is in ${location}.`, {
    hint: 'List them: telltale sessions, telltale workflow list',
  });
