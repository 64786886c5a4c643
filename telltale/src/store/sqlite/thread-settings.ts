/** What the thread is started with. */
export interface ThreadSettings {
  readonly path: string;
  readonly durability: 'power' | 'process';
  readonly lockTimeoutMs: number;
  readonly maxPages: number | null;
  /** Whether a file that cannot be written is opened to be read. */
  readonly mayOnlyRead: boolean;
  readonly pid: number;
  readonly startedAt: number;
  readonly place: string;
}
