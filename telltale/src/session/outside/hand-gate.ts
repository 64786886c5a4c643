import type { RunOrigin } from '../../events/run-event.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { triggersOf } from '../../triggers/compile-triggers.ts';
import type { GateLimit } from './gate-row.ts';

/** `concurrency` of a manual trigger, and the name under which the store counts the runs. */
export interface HandGate {
  readonly name: string;
  readonly workflow: string;
  readonly limit: GateLimit;
}

export const handGateName = (agent: string, workflow: string): string => `by hand ${agent}:${workflow}`;

/** The gate of a run that somebody asked for: undefined where nobody did, or where any number may be under way. */
export function handGate(
  workflow: WorkflowManifest,
  agent: string,
  { trigger, parent, leads, session, action }: Omit<RunOrigin, 'chain' | 'agents'> = {},
): HandGate | undefined {
  // What a session calls without an action is a feed.
  if (trigger !== undefined || parent !== undefined || leads === true) return undefined;
  if (session !== undefined && action === undefined) return undefined;
  for (const { manifest } of triggersOf(workflow))
    if (manifest.type === 'manual' && manifest.concurrency !== undefined)
      return {
        name: handGateName(agent, workflow.name),
        workflow: workflow.name,
        limit: manifest.concurrency,
      };
  return undefined;
}
