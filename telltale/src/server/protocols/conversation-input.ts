import { badRequest } from '../http/http-errors.ts';

/** A message of a conversation, as far as an agent can be given it. */
export interface SpokenMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly text: string;
}

/** Whoever sends more sends a history, and only its end is news. */
const MAX_MESSAGES = 2_000;
/** An agent's input at the most: the rest of its prompt has to fit beside it. */
const MAX_INPUT_CHARS = 400_000;

/** The list of messages of a request's body. Throws `bad_request`. */
export function readList(messages: unknown): readonly unknown[] {
  if (!Array.isArray(messages))
    throw badRequest('"messages" is no list.', 'Send the conversation as a list of messages.');
  if (messages.length > MAX_MESSAGES)
    throw badRequest(
      `There are ${messages.length} messages, ${MAX_MESSAGES} are allowed.`,
      'Send the last ones only; a conversation that is a session knows what was said before.',
    );
  return messages;
}

/**
 * What an agent is given that has not heard the conversation: its last message as it is, and what was said before as
 * text in front of it. Throws `bad_request` where the last message is nobody's question.
 */
export function wholeInput(messages: readonly SpokenMessage[]): string {
  const last = messages.at(-1);
  if (last?.role !== 'user' || last.text.trim() === '')
    throw badRequest(
      messages.some(({ role }) => role === 'user')
        ? 'The last message is no text of the user, so there is nothing to answer.'
        : 'There is no message of the user.',
      'End "messages" with one that has "role": "user" and some text.',
    );
  const before = messages.slice(0, -1).filter(({ text }) => text.trim() !== '');
  const input =
    before.length === 0
      ? last.text
      : `${BEFORE}\n\n${before.map(spoken).join('\n\n')}\n\n${NOW}\n\n${last.text}`;
  if (input.length > MAX_INPUT_CHARS)
    throw badRequest(
      `The conversation has ${input.length} characters, ${MAX_INPUT_CHARS} are allowed.`,
      'Send the last messages only, or put what is long into a file that the agent can read.',
    );
  return input;
}

const BEFORE = 'What was said in this conversation so far, oldest first:';
const NOW = 'Answer this message:';

const spoken = ({ role, text }: SpokenMessage): string => `[${role}] ${text}`;
