import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import type { Io } from './io.ts';

/**
 * The environment with the variables of `.env` in `folder`. A variable that is set wins, and an empty one in the file
 * counts as missing, so that a copy of `.env.example` sets nothing.
 */
export function withEnvFile(env: Io['env'], folder: string): Io['env'] {
  let text: string;
  try {
    text = readFileSync(join(folder, '.env'), 'utf8');
  } catch {
    return env; // there is no such file, or it may not be read
  }
  const found = Object.entries(parseEnv(text)).filter(([, value]) => value !== '');
  return { ...Object.fromEntries(found), ...env };
}
