import { createHash } from 'node:crypto';

/** What every provider takes as the name of a tool. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/**
 * The name under which actions call a server's tool: `github_create_issue`. What is no letter, digit, `_` or `-` becomes
 * `_`; a name that is too long ends in a hash of the whole.
 */
export function mcpTargetName(server: string, tool: string): string {
  const name = `${server}_${tool}`.replace(/[^A-Za-z0-9_-]/gu, '_');
  if (name.length <= MAX_LENGTH) return name;
  const hash = createHash('sha256').update(`${server}\n${tool}`).digest('hex').slice(0, HASH_LENGTH);
  return `${name.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}
