/**
 * Tables and lists that grant rights, start work or decide what a process does: tokens, MCP keys, artifacts, schedules,
 * hooks, open reviews, idempotency keys, notifications, the audit trail, variables and metadata of agents, cached feeds,
 * quarantine. Only the data of relics may come from a file that is not trusted. docs/store.md lists them.
 */
const DATA = /^relic(?:-queue)?:/;
/** Every name that the runtime gives a table has one of these, apart from the single words. */
const SYSTEM = /[.:_-]/;
const SINGLE_WORDS: ReadonlySet<string> = new Set(['reviews', 'hooks', 'schedules', 'memory', 'doctor']);

/** Whether a table or list of this name may only be imported from a trusted file. */
export const isReservedName = (name: string): boolean =>
  !DATA.test(name) && (SYSTEM.test(name) || SINGLE_WORDS.has(name));
