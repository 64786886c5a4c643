import { fstatSync, readdirSync } from 'node:fs';
import { type FileIdentity, identityOf } from './is-in-place.ts';

/**
 * What `read` finds through a descriptor that this process has of the file, in whatever thread; undefined where it has none.
 * Whoever opens the file once more and closes that gives up all locks of the process on it, SQLite's among them: another
 * process then takes the store for its own, and puts away the WAL that is being written here.
 */
export function readIfOpen<Found>(path: string, read: (descriptor: number) => Found): Found | undefined {
  const file = identityOf(path);
  for (const descriptor of descriptors()) {
    try {
      if (!leadsTo(descriptor, file)) continue;
      const found = read(descriptor);
      if (leadsTo(descriptor, file)) return found;
    } catch {
      // It was closed meanwhile, or is only for writing.
    }
  }
  return undefined;
}

/** None where the system has no list of them: on Windows, where locks are not lost like that. */
function descriptors(): readonly number[] {
  try {
    return readdirSync('/dev/fd').map(Number);
  } catch {
    return [];
  }
}

function leadsTo(descriptor: number, { ino, dev }: FileIdentity): boolean {
  const found = fstatSync(descriptor);
  return found.ino === ino && found.dev === dev;
}
