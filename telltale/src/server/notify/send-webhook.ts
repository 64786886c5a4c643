import { createHmac } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import { keyOf } from '../../session/outside/hook-signature.ts';
import { retryAfterMs } from './back-off.ts';
import { clip } from './clip.ts';
import { type Delivered, type Parcel, timed } from './delivery.ts';
import { payloadOf } from './outbox-row.ts';

export interface WebhookChannel {
  readonly url: string;
  readonly secret: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface WebhookDeps {
  readonly clock: Clock;
  readonly fetch: typeof globalThis.fetch;
}

const TIMEOUT_MS = 10_000;
/** Of an answer that is no success. */
const MAX_QUOTE = 200;
/** Refusals that pass: too slow, too early, too many. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);

/** Posts it, signed as Standard Webhooks say. Any address that a manifest names is allowed, private ones too: who writes the manifest may as well run a command. */
export async function sendWebhook(
  { clock, fetch }: WebhookDeps,
  { url, secret, headers }: WebhookChannel,
  { row, url: page, signal }: Parcel,
): Promise<Delivered> {
  const body = JSON.stringify(payloadOf(row, page));
  const stamp = String(Math.floor(clock.now() / 1_000));
  const signature = createHmac('sha256', keyOf(secret)).update(`${row.id}.${stamp}.${body}`).digest('base64');
  const { late, value, thrown } = await timed(clock, TIMEOUT_MS, signal, async (until) => {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'user-agent': 'telltale',
        'webhook-id': row.id,
        'webhook-timestamp': stamp,
        'webhook-signature': `v1,${signature}`,
      },
      body,
      signal: until,
    });
    return { response, said: await firstWords(response) };
  });
  if (value === undefined)
    return {
      kind: 'failed',
      error: late ? `No answer came within ${TIMEOUT_MS / 1_000} s.` : reasonOf(thrown),
    };
  return judge(value.response, value.said, clock.now());
}

function judge({ status, headers }: Response, said: string, now: number): Delivered {
  if (status >= 200 && status < 300) return { kind: 'sent' };
  const error = `The answer was ${status}${said === '' ? '' : `: ${said}`}.`;
  if (status >= 500 || PASSING.has(status))
    return { kind: 'failed', error, afterMs: retryAfterMs(headers.get('retry-after'), now) };
  if (status >= 300 && status < 400)
    return { kind: 'final', error: `${error} Redirections are not followed: name the address itself.` };
  return { kind: 'final', error };
}

/** The beginning of an answer that is no success. The rest is not waited for. */
async function firstWords(response: Response): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  try {
    const { value } = response.ok ? {} : await reader.read();
    const text = value === undefined ? '' : new TextDecoder().decode(value.subarray(0, 4 * MAX_QUOTE));
    return clip(text.replace(/\s+/g, ' ').trim(), MAX_QUOTE);
  } finally {
    await reader.cancel();
  }
}

/** `fetch failed` says nothing: its cause does. */
function reasonOf(thrown: unknown): string {
  const { cause, message } = thrown as { readonly cause?: unknown; readonly message?: string };
  const inner = cause as { readonly message?: string; readonly code?: string } | undefined;
  return clip(inner?.message || inner?.code || message || String(thrown), MAX_QUOTE);
}
