import type { Model, ModelRequest } from '../../src/models/model.ts';
import { createProviderModel } from '../../src/models/providers/create-provider-model.ts';
import { checkRequest, formatOf } from './check-request.ts';

/** One model for each wire format, through the real packages; nothing leaves the process. */
const MODELS: readonly (readonly [ref: string, env: Readonly<Record<string, string>>])[] = [
  ['anthropic/claude-sonnet-4-5', { ANTHROPIC_API_KEY: 'k' }],
  ['openai/gpt-5', { OPENAI_API_KEY: 'k' }],
  ['openai-compatible/qwen3', { OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:9/v1' }],
  ['google/gemini-2.5-flash', { GOOGLE_GENERATIVE_AI_API_KEY: 'k' }],
];

interface Sent {
  readonly url: string;
  readonly body: unknown;
}

/** What a provider's package sends for a request. */
async function sentFor(model: Model, sent: Sent[], request: ModelRequest): Promise<Sent> {
  const before = sent.length;
  await model.stream(request, { text: () => {}, reasoning: () => {} }).catch(() => {});
  const last = sent.at(-1);
  if (last === undefined || sent.length === before) throw new Error(`${model.id} sent nothing.`);
  return last;
}

async function openAll(): Promise<readonly { readonly model: Model; readonly sent: Sent[] }[]> {
  return Promise.all(
    MODELS.map(async ([ref, env]) => {
      const sent: Sent[] = [];
      const fetch: typeof globalThis.fetch = async (input, init) => {
        sent.push({ url: new URL(String(input)).pathname, body: JSON.parse(String(init?.body)) as unknown });
        return new Response('{"error":{"message":"no"}}', { status: 400 });
      };
      return { model: await createProviderModel(ref, { env, fetch }), sent };
    }),
  );
}

let opened: ReturnType<typeof openAll> | undefined;
/** One request after the other: each model keeps what it sent in one list. */
let queue: Promise<unknown> = Promise.resolve();

/** What each provider would refuse in a request of the runtime, once its real package has written it down. */
export function refusedBy(request: Omit<ModelRequest, 'signal'>): Promise<readonly string[]> {
  const asked = { ...request, messages: [...request.messages], signal: new AbortController().signal };
  const checked = queue.then(async () => {
    opened ??= openAll();
    const problems: string[] = [];
    for (const { model, sent } of await opened) {
      const { url, body } = await sentFor(model, sent, asked);
      const format = formatOf(url);
      if (format === undefined) problems.push(`${model.id} asks ${url}, which is no known format`);
      else problems.push(...checkRequest(format, body).map((problem) => `${format}: ${problem}`));
    }
    return problems;
  });
  queue = checked.catch(() => {});
  return checked;
}
