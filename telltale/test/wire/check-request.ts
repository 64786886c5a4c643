import { checkAnthropic } from './anthropic.ts';
import { checkGoogle } from './google.ts';
import { checkChat } from './openai-chat.ts';
import { checkResponses } from './openai-responses.ts';

export type WireName = 'openai-chat' | 'openai-responses' | 'anthropic' | 'google';

const CHECKS: Readonly<Record<WireName, (body: unknown) => readonly string[]>> = {
  'openai-chat': checkChat,
  'openai-responses': checkResponses,
  anthropic: checkAnthropic,
  google: checkGoogle,
};

/**
 * What the provider would refuse in a request, written from the published references: roles and their order, pairing
 * of calls and results, ids, names, schemas of tools, sizes, empty contents. Each problem begins with the path of the
 * field; none means that the request is accepted.
 */
export const checkRequest = (format: WireName, body: unknown): readonly string[] => CHECKS[format](body);

/** The format that a request to this path is in. */
export function formatOf(url: string): WireName | undefined {
  const path = url.split('?')[0] ?? '';
  if (path.endsWith('/chat/completions')) return 'openai-chat';
  if (path.endsWith('/responses')) return 'openai-responses';
  if (path.endsWith('/messages')) return 'anthropic';
  return /:(?:streamG|g)enerateContent$/.test(path) ? 'google' : undefined;
}
