import { RuntimeError } from '../kernel/runtime-error.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { LoadedAgent } from './loaded-agent.ts';

/**
 * Throws `not_built` where an agent asks for what this runtime cannot do yet: one that runs without its
 * workflow or its feeds is another agent than the one that was written. `internal` are the internal actions there are.
 */
export function refuseNotBuilt(agent: LoadedAgent<unknown>, internal: readonly string[]): void {
  const keys = unbuiltKeys(agent.manifest, internal);
  if (keys.length > 0) throw notBuilt(agent, keys);
}

function unbuiltKeys(manifest: AgentManifest, internal: readonly string[]): readonly string[] {
  const asked: readonly (readonly [key: string, isAsked: boolean])[] = [
    ['context_feeds', manifest.context_feeds.length > 0],
    ['memory', manifest.memory !== undefined],
  ];
  const allowed = manifest.internal_actions.enabled ? (manifest.internal_actions.allowed_actions ?? []) : [];
  const missing = allowed.filter((name) => !internal.includes(name));
  return [
    ...asked.flatMap(([key, isAsked]) => (isAsked ? [key] : [])),
    ...missing.map((name) => `internal_actions.allowed_actions: ${name}`),
  ];
}

const notBuilt = ({ manifest, path }: LoadedAgent<unknown>, keys: readonly string[]) =>
  new RuntimeError(
    'not_built',
    `The agent "${manifest.name}" (${path}) asks for what cannot be run yet: ${keys.join(', ')}.`,
    {
      hint: `Leave ${keys.length === 1 ? 'it' : 'them'} out to run it; "telltale validate" checks manifests that use ${keys.length === 1 ? 'it' : 'them'}.`,
    },
  );
