import { createHash } from 'node:crypto';
import { derivedId } from '../../kernel/ids.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { OutsideTrigger } from '../../triggers/outside-triggers.ts';
import type { HookHeaders, OutsideOutcome } from '../runs/run-types.ts';
import { hookTooLarge } from './hook-errors.ts';
import type { HookGuard } from './hook-guard.ts';
import { checkSignature } from './hook-signature.ts';

/** Of what is posted to a hook: it goes on the log of the run whole. */
export const MAX_HOOK_BYTES = 1024 * 1024;

export type Webhook = Extract<OutsideTrigger, { readonly type: 'webhook' }>;

export interface ReceiveDeps {
  readonly guard: HookGuard;
  readonly now: () => number;
  readonly crashPoint?: ((name: string) => void) | undefined;
  /** Has the run started, under that id, and resolves once it is on its log. */
  readonly enter: (trigger: Webhook, seen: JsonObject, run: string) => Promise<OutsideOutcome>;
}

export async function receiveHook(
  { guard, now, crashPoint, enter }: ReceiveDeps,
  trigger: Webhook,
  body: string | Uint8Array,
  headers: HookHeaders,
): Promise<OutsideOutcome> {
  const { hook, secret, signature } = trigger;
  if (Buffer.byteLength(body) > MAX_HOOK_BYTES) throw hookTooLarge(hook, MAX_HOOK_BYTES);
  const signed = checkSignature[signature]({ hook, body, headers, secret, now: now() });
  const taken = await guard.take(hook, signature, signed);
  if (taken.kind === 'known')
    return { kind: 'replayed', ...(taken.run === undefined ? {} : { run: taken.run }) };
  crashPoint?.('hook:claimed');
  const { id = signed.bodyHash, event } = signed;
  const run = derivedId(
    'run',
    taken.since,
    createHash('sha256').update(`${trigger.id} ${hook} ${id}`).digest(),
  );
  const seen = { hook, id, ...(event === undefined ? {} : { event }), body: bodyOf(body) };
  try {
    const outcome = await enter(trigger, seen, run);
    crashPoint?.('hook:started');
    await taken.over(outcome.kind === 'started' ? run : undefined);
    return outcome;
  } catch (thrown) {
    // Whoever took it first has started it, and died before it could say so.
    if (toRuntimeError(thrown).code === 'stream_exists') {
      await taken.over(run);
      return { kind: 'replayed', run };
    }
    // One that cannot be given back is another's after a while.
    await taken.release().catch(() => undefined);
    throw thrown;
  }
}

/** Deeper lists and objects are left as the text that they came in: what writes JSON would run out of stack. */
const MAX_DEPTH = 200;

/** JSON where it is some, else the text. */
function bodyOf(body: string | Uint8Array): Json {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  try {
    const value = JSON.parse(text) as Json;
    return isShallow(value) ? value : text;
  } catch {
    return text;
  }
}

function isShallow(value: Json): boolean {
  let level: readonly Json[] = [value];
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
    if (level.length === 0) return true;
  }
  return false;
}
