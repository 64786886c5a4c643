import type { AuditEntry } from '../../client/api.ts';

/** Who did what, on a list of the store that only grows. What is done to a session or run is on its own log, too. */
export interface Audit {
  add(entry: Omit<AuditEntry, 'n' | 'at'>): Promise<void>;
  /** Newest first. */
  list(options: { readonly before?: number; readonly limit: number }): Promise<readonly AuditEntry[]>;
}
