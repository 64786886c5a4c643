import { added, NONE } from '../../kernel/grow.ts';
import type { FaultCode } from '../../protocol/fault-codes.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import { leftOpen, truncated } from '../../protocol/tags/faults.ts';

export type Fault = Extract<ParserEvent, { readonly type: 'fault' }>;

/**
 * Faults in branches that do not hold. What stands there does not count, and so most of them do not matter; but the model
 * is told of an `<if>` that it left open, which may have swallowed the rest of its turn, and of what put that in doubt.
 */
export interface PassedFaults {
  /** The one straight before the event in hand. */
  passedLast: Fault | undefined;
  /** Those that can put the rest of a turn in doubt. */
  passed: readonly Fault[];
}

/** The first is the one that did. */
const MAX_PASSED = 8;

const BRINGS_DOUBT: ReadonlySet<FaultCode> = new Set<FaultCode>([
  'fence_left_open',
  'bad_json',
  'body_too_large',
  'bad_attribute',
  'tag_too_long',
  'stray_close',
  'not_here',
  'unsealed',
]);

export function renewPassed(faults: PassedFaults): void {
  faults.passedLast = undefined;
  faults.passed = NONE;
}

export function passBy(faults: PassedFaults, event: ParserEvent): void {
  faults.passedLast = event.type === 'fault' ? event : undefined;
  if (event.type === 'fault' && BRINGS_DOUBT.has(event.code) && faults.passed.length < MAX_PASSED)
    faults.passed = added(faults.passed, event);
}

/** At the end of an `<if>`: whether it was left open, as the fault says that stands there. */
export function leftOpenIf(faults: PassedFaults): Fault | undefined {
  const { passedLast } = faults;
  faults.passedLast = undefined;
  return passedLast !== undefined && OF_IF.includes(passedLast.message) ? passedLast : undefined;
}

const OF_IF: readonly string[] = [leftOpen('if'), truncated('if')].map(({ message }) => message);
