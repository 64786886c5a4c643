import type { AgentInfo, ManifestProblem } from '../../../../telltale/src/client/api.ts';
import { formatClock } from '../../format/format-time.ts';

export interface Health {
  readonly kind: 'fine' | 'warned' | 'old' | 'broken';
  readonly text: string;
}

/** Whether what runs is what the files say. */
export function healthOf({
  usable,
  problems,
  loadedAt,
}: Pick<AgentInfo, 'usable' | 'problems' | 'loadedAt'>): Health {
  const errors = problems.filter(({ severity }: ManifestProblem) => severity === 'error').length;
  const warnings = problems.length - errors;
  const errorText = `${errors} error${errors === 1 ? '' : 's'}`;
  if (!usable)
    return { kind: 'broken', text: errors === 0 ? 'Cannot be loaded' : `Cannot be loaded: ${errorText}` };
  if (errors > 0)
    return {
      kind: 'old',
      text: `${errorText}: the version from ${formatClock(loadedAt).slice(0, 5)} is in use`,
    };
  if (warnings > 0) return { kind: 'warned', text: `${warnings} warning${warnings === 1 ? '' : 's'}` };
  return { kind: 'fine', text: 'Loaded' };
}
