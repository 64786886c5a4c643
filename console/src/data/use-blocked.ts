import type { Role } from '../../../telltale/src/client/api.ts';
import { allows } from './allows.ts';
import { useReadable } from './readable.ts';
import { useData } from './use-data.ts';

/**
 * Why the user lacks the role for something. Undefined if they have it. It is meant for the `blocked` prop of buttons.
 */
export function useBlocked(needed: Role): string | undefined {
  const { who, connection } = useData();
  const state = useReadable(who);
  const { kind } = useReadable(connection);
  if (kind === 'lost') return 'The server cannot be reached.';
  if (state.kind !== 'known') return 'The server has not said yet what you may do.';
  const { name, role } = state.who;
  return allows(role, needed)
    ? undefined
    : `This needs the role "${needed}"; your token "${name}" has "${role}".`;
}
