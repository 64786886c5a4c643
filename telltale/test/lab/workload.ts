import { createHmac } from 'node:crypto';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import type { StreamInfo } from '../../src/store/store.ts';
import { callMember, type MemberAnswer } from './call-member.ts';
import type { Asked } from './evidence.ts';
import { HOOK, HOOK_SECRET } from './lab-project.ts';
import type { Member } from './member.ts';
import type { Observer } from './observer.ts';

/** What is begun, and how often of so many. */
const SHARES = { chain: 3, signals: 2, approval: 2, talker: 4, asker: 2, caller: 2, hooked: 1 } as const;
export type Recipe = keyof typeof SHARES;
export const RECIPES = Object.keys(SHARES) as readonly Recipe[];

/** Tries of one request, each with the same key. */
const TRIES = 3;

/** Asks the fleet for work, and does what people do meanwhile: signals, steers, answers. */
export interface Workload {
  readonly asked: readonly Asked[];
  /** Begins something: what the number from 0 to below 1 says, or this. */
  begin(pick: number, recipe?: Recipe): Promise<void>;
  /** Sends an event to a run; resolves with whether it was taken. */
  signal(stream: string, event: string): Promise<boolean>;
  /** Signals and answers what waits for it. */
  attend(): Promise<void>;
}

export interface WorkloadEdges {
  readonly members: readonly Member[];
  readonly observer: Observer;
  /** Tells the requests of one round from those of others. */
  readonly name: string;
  readonly random: () => number;
}

export function createWorkload({ members, observer, name, random }: WorkloadEdges): Workload {
  const asked: Asked[] = [];
  let count = 0;
  const newToken = () => `${name}-${++count}-`;

  const anyUrl = (): string | undefined => {
    const urls = members.flatMap((member) => member.url() ?? []);
    return urls[Math.floor(random() * urls.length)];
  };
  const post = async (
    path: string,
    body: JsonObject,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<MemberAnswer | undefined> => {
    const url = anyUrl();
    return url === undefined ? undefined : callMember(url, path, { body: JSON.stringify(body), headers });
  };
  const isTaken = (answer: MemberAnswer | undefined) => answer !== undefined && answer.status < 300;

  const start = async (recipe: Exclude<Recipe, 'hooked'>): Promise<void> => {
    const token = newToken();
    const isSession = recipe === 'talker' || recipe === 'asker' || recipe === 'caller';
    const body: JsonObject = isSession
      ? { agent: recipe, input: `Do all of it: ${token}` }
      : { agent: 'lab', workflow: recipe, input: { token } };
    for (let tried = 0; tried < TRIES; tried++) {
      const answer = await post(isSession ? '/sessions' : '/runs', body, { 'idempotency-key': token });
      const stream = isTaken(answer) ? idOf(answer?.body) : undefined;
      if (stream === undefined) continue;
      asked.push({ kind: 'start', token, acked: true, stream });
      if (recipe === 'signals') await signal(stream, 'go');
      if (recipe === 'talker' && random() < 0.7) await steer(stream);
      return;
    }
    asked.push({ kind: 'start', token, acked: false });
  };

  /** Each try is a message of its own: what was not acknowledged may have come. */
  const signal = async (stream: string, event: string): Promise<boolean> => {
    const token = newToken();
    const answer = await post(`/runs/${stream}/signal`, { event, data: { n: token, word: 'five' } });
    asked.push({ kind: 'signal', token, acked: isTaken(answer), stream });
    return isTaken(answer);
  };
  const steer = async (stream: string): Promise<void> => {
    const token = newToken();
    const answer = await post(`/sessions/${stream}/steer`, { text: `Be quick: ${token}` });
    asked.push({ kind: 'steer', token, acked: isTaken(answer), stream });
  };

  const hook = async (): Promise<void> => {
    const token = newToken();
    const body = JSON.stringify({ poked: true });
    for (let tried = 0; tried < TRIES; tried++) {
      const at = String(Math.floor(Date.now() / 1_000));
      const signature = createHmac('sha256', HOOK_SECRET).update(`${token}.${at}.${body}`).digest('base64');
      const headers = {
        'webhook-id': token,
        'webhook-timestamp': at,
        'webhook-signature': `v1,${signature}`,
      };
      const url = anyUrl();
      const answer =
        url === undefined ? undefined : await callMember(url, `/hooks/${HOOK}`, { body, headers });
      if (!isTaken(answer)) continue;
      asked.push({ kind: 'hook', token, acked: true });
      return;
    }
    asked.push({ kind: 'hook', token, acked: false });
  };

  const begin = async (pick: number, recipe = recipeAt(pick)): Promise<void> => {
    if (anyUrl() !== undefined) await (recipe === 'hooked' ? hook() : start(recipe));
  };

  /** What each run of `signals` was last seen to have, so that nothing is sent twice without need. */
  const signalled = new Map<string, number>();
  const signalWaiting = async ({ stream, name: workflow, status, head }: StreamInfo): Promise<void> => {
    if (workflow !== 'signals' || status !== 'waiting' || signalled.get(stream) === head) return;
    signalled.set(stream, head);
    const log = observer.seen.get(stream)?.join('') ?? '';
    // The first one may have been lost on the way.
    if (!(await signal(stream, log.includes('"step":"counted"') ? 'stop' : 'go'))) signalled.delete(stream);
  };

  const answerAll = async (): Promise<void> => {
    const url = anyUrl();
    const listed = url === undefined ? undefined : await callMember(url, '/reviews');
    const items = (listed?.body as { readonly items?: readonly OpenItem[] } | null)?.items ?? [];
    for (const { review, options } of items)
      await post(`/reviews/${review}`, options === undefined ? { answer: 'approved' } : { choice: 'build' });
  };

  return {
    asked,
    begin,
    signal,
    async attend() {
      for (const info of observer.streams.values()) await signalWaiting(info);
      const asks = [...observer.streams.values()].some(
        ({ name: of, status }) => status === 'waiting' && (of === 'approval' || of === 'asker'),
      );
      if (asks) await answerAll();
    },
  };
}

interface OpenItem {
  readonly review: string;
  readonly options?: readonly string[];
}

const idOf = (body: Json | undefined): string | undefined =>
  typeof body === 'object' && body !== null && 'id' in body ? String(body.id) : undefined;

function recipeAt(pick: number): Recipe {
  const all = RECIPES.flatMap((recipe) => Array.from({ length: SHARES[recipe] }, () => recipe));
  return all[Math.floor(pick * all.length)] ?? 'chain';
}
