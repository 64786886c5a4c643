import { statSync } from 'node:fs';

export interface FileIdentity {
  readonly ino: number;
  readonly dev: number;
}

export function identityOf(path: string): FileIdentity {
  const { ino, dev } = statSync(path);
  return { ino, dev };
}

/**
 * Whether a path still leads to the file that it led to: what is written to another one is lost. A look before each commit
 * takes a twentieth of the appends a second (0.54 of a bare loop's for 0.57, `bench store`).
 */
export function isSameFile(path: string, { ino, dev }: FileIdentity): boolean {
  const now = statSync(path, { throwIfNoEntry: false });
  return now?.ino === ino && now.dev === dev;
}
