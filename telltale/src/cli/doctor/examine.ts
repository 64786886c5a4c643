import type { Check, CheckContext, Finding } from './check.ts';
import { checkNode } from './check-node.ts';
import { checkPrograms } from './check-programs.ts';
import { checkProviders } from './check-providers.ts';
import { checkStore } from './check-store.ts';
import { checkSurroundings } from './check-surroundings.ts';

const CHECKS: readonly Check[] = [checkNode, checkStore, checkProviders, checkSurroundings, checkPrograms];

/** All findings, in a fixed order; the checks themselves run side by side. */
export async function examine(context: CheckContext): Promise<readonly Finding[]> {
  return (await Promise.all(CHECKS.map((check) => check(context)))).flat();
}
