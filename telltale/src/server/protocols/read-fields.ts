import type { Context } from 'hono';
import { RuntimeError } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { badRequest } from '../http/error-answer.ts';
import type { AppEnv } from '../server-edges.ts';

const MAX_ID_CHARS = 256;

/** The body, which is an object. Throws `bad_json` or `bad_request`. */
export async function readObject(c: Context<AppEnv>): Promise<JsonObject> {
  let body: unknown;
  try {
    body = await c.req.json();
  } catch {
    throw badRequest('The body is no JSON.', 'Send a JSON object with "content-type: application/json".');
  }
  if (!isJsonObject(body))
    throw badRequest(`The body is ${kindOf(body)}, not an object.`, 'Send a JSON object.');
  return body;
}

/** A field that names something: text of 1 to 256 characters. */
export function readId(body: JsonObject, field: string): string {
  const value = body[field];
  if (typeof value !== 'string' || value === '' || value.length > MAX_ID_CHARS)
    throw badRequest(
      `"${field}" is ${typeof value === 'string' ? `a text of ${value.length} characters` : kindOf(value)}.`,
      `Send a text of 1 to ${MAX_ID_CHARS} characters.`,
    );
  return value;
}

export function optionalText(body: JsonObject, field: string): string | undefined {
  return body[field] === undefined || body[field] === null ? undefined : readId(body, field);
}

/** As messages call a value: `a number`, `a list`, `missing`. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/**
 * The text of a message's content: a string, or a list of parts, of which those of type `text` count. `strict`: another
 * part is refused, since the agent would not see it; otherwise it is named.
 */
export function contentText(content: unknown, where: string, strict: boolean): string {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return content;
  if (!Array.isArray(content))
    throw badRequest(`${where} has a content that is ${kindOf(content)}.`, 'Send text, or a list of parts.');
  return content
    .map((part: unknown) => {
      if (!isJsonObject(part)) throw badRequest(`${where} has a part that is ${kindOf(part)}.`, PART);
      if (part.type === 'text' && typeof part.text === 'string') return part.text;
      if (part.type === 'text') throw badRequest(`${where} has a part without its text.`, PART);
      if (strict)
        throw badRequest(
          `${where} has a part of type ${JSON.stringify(part.type ?? null)}, which agents cannot be given.`,
          'Send text; put files where the agent can read them, and say where.',
        );
      return `[${String(part.type)}]`;
    })
    .join('');
}

const PART = 'A part is {"type": "text", "text": "…"}.';

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

/** What a front end's request is refused with before anything has begun. */

export const agentUnnamed = (known: readonly string[], where: string) =>
  badRequest(
    'The request names no agent, and there is more than one here.',
    `Name it ${where}. There are: ${known.join(', ')}.`,
  );

export const noAgents = () =>
  new RuntimeError('agent_unknown', 'This server has no agent.', {
    hint: 'Start it in a folder with an agent, or name one: telltale serve agent.yml',
  });

export const threadBusy = (thread: string, session: string | undefined) =>
  new RuntimeError(
    'thread_busy',
    `The last message of the conversation "${thread}" is still being answered.`,
    {
      hint: `Wait for the answer or end it first${session === undefined ? '' : `; it is session ${session}`}.`,
      retryable: true,
    },
  );

export const notWaiting = (thread: string, review: string) =>
  new RuntimeError(
    'review_answered',
    `The conversation "${thread}" does not wait for an answer to ${review}.`,
    {
      hint: 'Somebody may have answered it elsewhere. Send a message to continue.',
    },
  );
