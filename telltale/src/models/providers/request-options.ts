import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
import type { CallOptions, LanguageModel, StreamingModel } from './language-model.ts';

/** Opens a provider's model on a connection of the caller's. */
export type OpenOn = (fetch: typeof globalThis.fetch) => Promise<LanguageModel>;

/** What a request holds of the conversation and the tools, and the model's name, over all wire formats. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set([
  'model',
  'system',
  'instructions',
  'systemInstruction',
  'messages',
  'input',
  'contents',
  'tools',
]);

/**
 * The options that a provider's package puts into the body of a request: those that are given, and its own. The request
 * is made and not sent.
 */
export async function requestOptions(open: OpenOn, call: CallOptions): Promise<JsonObject> {
  let body: Json | undefined;
  const model = await open(async (_, init) => {
    body = JSON.parse(String(init?.body)) as Json;
    throw new Error('This request is only looked at.');
  });
  try {
    const { stream } = await (model as unknown as StreamingModel).doStream(call);
    await stream.cancel();
  } catch (thrown) {
    if (body === undefined) throw thrown;
  }
  if (!isJsonObject(body)) return {};
  return Object.fromEntries(Object.entries(body).filter(([key]) => !SHOWN_ELSEWHERE.has(key)));
}
