import type { Json, JsonObject } from '../../kernel/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { shownManifest } from '../../session/runs/shown-manifest.ts';

/** Keys under which manifests have what comes out of the environment and is nobody's to read. */
const HIDDEN: ReadonlySet<string> = new Set([
  ...['secret', 'token', 'password', 'authorization', 'api_key'],
  ...['headers', 'env', 'environment', 'url', 'connection'],
]);

const HIDDEN_VALUE = '(hidden)';

/** An agent's manifest as it is in force, without what may hold secrets. Its files have the names of variables instead. */
export const shownAgent = (manifest: AgentManifest): JsonObject =>
  withoutSecrets(shownManifest(manifest)) as JsonObject;

/** Plain data, and nothing under keys that secrets stand under. */
export function withoutSecrets(value: unknown): Json {
  return JSON.parse(
    JSON.stringify(value, (key, each: unknown) =>
      HIDDEN.has(key) && each !== undefined ? HIDDEN_VALUE : each,
    ),
  ) as Json;
}
