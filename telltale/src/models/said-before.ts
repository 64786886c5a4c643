import type { ModelRequest } from './model.ts';

/**
 * What the model has said in answer to the same request, before each restart: it stands at the end of the conversation, in
 * as many messages as there were restarts. Undefined where these are not what was said, letter for letter: a call that broke
 * off is told as text.
 */
export function saidBefore({ said = 0, messages }: ModelRequest): readonly string[] | undefined {
  const parts: string[] = [];
  let found = 0;
  for (let at = messages.length - 1; at >= 0 && found < said; at--) {
    const message = messages[at];
    if (message?.role !== 'assistant') continue;
    parts.unshift(message.text);
    found += message.text.length;
  }
  return found === said ? parts : undefined;
}
