import type { Json, JsonObject } from '../../kernel/json.ts';
import { envOf, hideEnv } from '../../manifest/env/hide-env.ts';
import type { LoadedAgent } from '../../session/loaded-agent.ts';
import { shownManifest } from '../../session/runs/shown-manifest.ts';

/** Keys under which manifests have what comes out of the environment and is nobody's to read. */
const HIDDEN: ReadonlySet<string> = new Set([
  'secret',
  'token',
  'password',
  'authorization',
  'api_key',
  'headers',
  'env',
  'environment',
  'url',
  'connection',
]);

const HIDDEN_VALUE = '(hidden)';

/**
 * An agent's manifest as it is in force. What came from the environment is shown as the variable that it came from,
 * and what stands under a key that secrets stand under is left out, also where the file has it in plain text.
 */
export const shownAgent = ({ manifest, project }: Pick<LoadedAgent, 'manifest' | 'project'>): JsonObject =>
  hideEnv(withoutSecrets(shownManifest(manifest)) as JsonObject, envOf(project.manifests));

/** Plain data, and nothing under keys that secrets stand under. */
export function withoutSecrets(value: unknown): Json {
  return JSON.parse(
    JSON.stringify(value, (key, each: unknown) =>
      HIDDEN.has(key) && each !== undefined ? HIDDEN_VALUE : each,
    ),
  ) as Json;
}
