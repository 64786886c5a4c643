import type { Command } from 'commander';

export interface StoreOption {
  readonly store?: string;
}

export const addStoreOption = (command: Command): Command =>
  command.option(
    '--store <path>',
    'the store with the sessions: a file, postgres://…, or "memory" (default: TELLTALE_STORE, else .telltale/telltale.db)',
  );
