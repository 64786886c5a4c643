import type { Json } from '../../src/lib/json.ts';

/** What a member answered, or nothing where none could be had. */
export interface MemberAnswer {
  readonly status: number;
  readonly body: Json;
}

/** Who gets no answer by then asks another. */
const PATIENCE_MS = 6_000;

/** Asks a member over HTTP. Undefined: nobody knows whether it has done it. */
export async function callMember(
  /** As it was printed, with the token behind `#`. */
  url: string,
  path: string,
  post?: { readonly body: string; readonly headers?: Readonly<Record<string, string>> },
): Promise<MemberAnswer | undefined> {
  try {
    const answer = await fetch(new URL(path, url), {
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(post === undefined
        ? { headers: authorized(url) }
        : {
            method: 'POST',
            body: post.body,
            headers: { ...authorized(url), 'content-type': 'application/json', ...post.headers },
          }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : (JSON.parse(text) as Json) };
  } catch {
    return undefined; // it was killed, stopped or cut off: that is what the lab is for
  }
}

const authorized = (link: string): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${new URL(link).hash.replace('#token=', '')}`,
});
