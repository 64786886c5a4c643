import type { JsonObject } from '../../kernel/json.ts';
import { frozenCopy } from '../../manifest/schema/frozen-copy.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';

/**
 * Without what may hold secrets of the environment: imports name the variables of MCP servers, hooks those of programs,
 * notifications the secrets of webhooks.
 */
export const shownManifest = ({
  import: _,
  hooks: __,
  notifications: ___,
  ...manifest
}: AgentManifest): JsonObject => frozenCopy(JSON.parse(JSON.stringify(manifest)) as JsonObject);
