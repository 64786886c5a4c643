import type { RuntimeError } from '../../kernel/runtime-error.ts';
import { printable } from '../../manifest/printable.ts';
import { modelFailed } from '../model-errors.ts';
import { patientFetch } from './patient-fetch.ts';

type Fetch = typeof globalThis.fetch;

/** For messages: the model's id, where it is asked, and the variable that says so. */
export interface AskedAt {
  readonly id: string;
  readonly baseURL: string;
  readonly baseVariable: string;
}

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * A `fetch` that follows redirects within the origin only, and gives nothing but answers and errors. What is sent holds a
 * key and a whole conversation, and `fetch` itself leaves but `authorization` and cookies behind: `x-api-key` would go to
 * whoever is named. Without `fetch`, it is the global one at each call, which others may have replaced since.
 */
export const ownOriginFetch =
  (at: AskedAt, fetch?: Fetch): Fetch =>
  async (input, init) => {
    const first = new URL(input instanceof Request ? input.url : input);
    let from = first;
    let target: Parameters<Fetch>[0] = input;
    for (let redirects = 0; ; redirects++) {
      const response = await (fetch ?? patientFetch)(target, { ...init, redirect: 'manual' });
      const location = response.headers.get('location');
      const isRedirect = REDIRECTS.has(response.status) && location !== null;
      if (!isRedirect && !isNoAnswer(response.status)) return response;
      await response.body?.cancel();
      if (!isRedirect) throw noAnswer(at, from, response.status);
      if (redirects === MAX_REDIRECTS) throw redirectsOn(at, from);
      const next = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
      if (next?.origin !== first.origin) throw leadsAway(at, first, next);
      // Any other one asks anew by GET, without a body; and only a text can be sent twice.
      if (response.status < 307 || typeof init?.body !== 'string')
        throw leavesPrompt(at, response.status, next);
      from = next;
      target = next;
    }
  };

/** Neither an answer nor an error: whatever reads on would take it for a stream that broke off. */
const isNoAnswer = (status: number): boolean =>
  status === 204 || status === 205 || (status >= 300 && status < 400);

const MAX_SHOWN = 200;
const shown = (text: string): string => printable(text.slice(0, MAX_SHOWN));

const refused = (at: AskedAt, what: string, hint?: string): RuntimeError =>
  modelFailed('model_bad_request', `${at.id}: ${what}`, {
    hint: hint ?? `Check ${at.baseVariable}, and any proxy in between.`,
  });

const noAnswer = (at: AskedAt, { origin }: URL, status: number) =>
  refused(at, `${origin} answers with the status ${status}, which no model server does.`);

const redirectsOn = (at: AskedAt, { origin }: URL) =>
  refused(at, `${origin} redirects more than ${MAX_REDIRECTS} times.`);

function leadsAway(at: AskedAt, from: URL, to: URL | undefined): RuntimeError {
  const isWeb = to !== undefined && /^https?:$/.test(to.protocol);
  const where = isWeb ? to.origin : 'what is not an http:// or https:// address';
  return refused(
    at,
    `${from.origin} redirects to ${shown(where)}. Telltale does not follow this redirect.`,
    isWeb
      ? `Set ${at.baseVariable} to ${shown(baseBehind(at, from, to))}, if that is where it should go.`
      : undefined,
  );
}

const leavesPrompt = (at: AskedAt, status: number, { origin, pathname }: URL) =>
  refused(
    at,
    `${origin} answers with a redirect (${status}) to ${shown(pathname)}, which would lose the prompt.`,
  );

/** The base URL with which the very address would be asked for, where it ends as the one that was. */
function baseBehind({ baseURL }: AskedAt, from: URL, to: URL): string {
  const rest = from.pathname.slice(new URL(baseURL).pathname.replace(/\/$/, '').length);
  return to.origin + (to.pathname.endsWith(rest) ? to.pathname.slice(0, -rest.length) : '');
}
