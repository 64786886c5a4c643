import { checkManifest } from '../../src/manifest/check-manifest.ts';
import type { AgentManifest } from '../../src/manifest/schema/kinds.ts';

/** A checked manifest with these keys. */
export function agentWith(keys: Readonly<Record<string, unknown>> = {}): AgentManifest {
  const { manifest, issues } = checkManifest({ kind: 'Agent', name: 'coder', ...keys });
  if (manifest?.kind !== 'Agent') throw new Error(issues.map(({ message }) => message).join('\n'));
  return manifest;
}
