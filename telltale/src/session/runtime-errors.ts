import type { LaidAside } from '../engine/fleet/work-queue.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';

export const laidAside = ({ stream, why }: LaidAside) =>
  new RuntimeError('laid_aside', `No worker could go on with ${stream}: ${why}`, {
    hint: `Mend that, then have it tried again: telltale fleet retry ${stream}`,
  });

export const runtimeClosed = () =>
  new RuntimeError('runtime_closed', 'The runtime was closed.', { hint: 'Create another one.' });

export const streamUnknown = (stream: string, location: string) =>
  new RuntimeError('session_unknown', `No session or run "${stream}" is in ${location}.`, {
    hint: 'List them with: telltale sessions, telltale workflow list',
  });
