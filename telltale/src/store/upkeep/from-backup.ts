/** What to do about a damaged stream. */
export const fromBackup = (stream: string): string =>
  `Restore it from a backup. What can still be read is saved by: telltale store export --session ${stream}`;
