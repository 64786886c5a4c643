import { NONE } from '../../kernel/grow.ts';
import type { FaultCode } from '../../protocol/fault-codes.ts';

/**
 * Whether a fault may mean that something which was to act did not: an action, metadata, a control tag or a variable.
 * The others are about prose, which has been said as it was written. A code that can mean both, such as `no_body`
 * (`<action>` with no JSON behind it), counts: one more turn costs less than an action that nobody misses.
 */
const KEEPS_FROM_ACTING = {
  no_body: true,
  tag_too_long: true,
  not_here: true,
  truncated: true,
  bad_json: true,
  body_too_large: true,
  bad_action: true,
  bad_attribute: true,
  duplicate_id: true,
  in_doubt: true,
  unsealed: true,
  bad_variable: true,
  bad_test: true,
  fence_left_open: false,
  not_in_response: false,
  stray_close: false,
  thought_left_open: false,
  reserved_tag: false,
} as const satisfies Record<FaultCode | 'bad_variable' | 'bad_test', boolean>;

/** The codes among these, each once. */
export function keptFromActing(faults: readonly { readonly code: string }[]): readonly string[] {
  if (faults.length === 0) return NONE;
  const codes = faults.flatMap(({ code }) => (keeps(code) ? [code] : []));
  return [...new Set(codes)];
}

const keeps = (code: string): boolean =>
  Object.hasOwn(KEEPS_FROM_ACTING, code) && KEEPS_FROM_ACTING[code as keyof typeof KEEPS_FROM_ACTING];
