import type { SessionResult } from '../../session/runtime-types.ts';

/** Let go of because the log could not be written any more: nobody asked for it, so it is a failure. */
export const isLost = ({ status, error }: SessionResult): boolean =>
  status === 'interrupted' && error !== undefined;
