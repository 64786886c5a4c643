import { isJsonObject, type JsonObject } from '../../../kernel/json.ts';
import { badRequest } from '../../http/http-errors.ts';
import type { OnClose } from '../ag-ui/read-run-input.ts';
import { readOnClose } from '../ag-ui/read-run-input.ts';
import type { Said } from '../chats.ts';
import { readList, type SpokenMessage, wholeInput } from '../conversation-input.ts';
import { kindOf, optionalText, readId } from '../read-fields.ts';

/** What the AI SDK's chat transport asks for. */
export interface ChatRequest {
  readonly id: string;
  readonly said: Said;
  readonly agent: string | undefined;
  readonly user: string | undefined;
  readonly onClose: OnClose;
  /** The client's last message, where that is the one that goes on: its id, and the ids of its calls. */
  readonly goesOn: { readonly message: string; readonly calls: readonly string[] } | undefined;
}

/** Reads the body of a request. `by` answers for reviews. Throws `bad_request`. */
export function readChatRequest(body: JsonObject, by: string): ChatRequest {
  const id = readId(body, 'id');
  const messages = readList(body.messages).map(readMessage);
  const last = messages.at(-1);
  const answers = last?.role === 'assistant' ? last.parts.flatMap((part) => approvalOf(part, by)) : [];
  const calls =
    last?.parts.flatMap(({ toolCallId }) => (typeof toolCallId === 'string' ? [toolCallId] : [])) ?? [];
  return {
    id,
    said: answers.length > 0 ? { kind: 'answers', answers } : readSaid(messages, body),
    agent: optionalText(body, 'agent'),
    user: optionalText(body, 'user'),
    onClose: readOnClose(body.on_close),
    goesOn: answers.length > 0 && last !== undefined ? { message: last.id, calls } : undefined,
  };
}

interface UiMessage {
  readonly id: string;
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly JsonObject[];
}

function readMessage(message: unknown, at: number): UiMessage {
  const where = `messages[${at}]`;
  if (!isJsonObject(message)) throw badRequest(`${where} is ${kindOf(message)}.`, MESSAGE);
  const { id, role, parts } = message;
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw badRequest(`${where} has the role ${JSON.stringify(role ?? null)}.`, MESSAGE);
  if (!Array.isArray(parts) || !parts.every(isJsonObject))
    throw badRequest(`${where} has no list of parts.`, MESSAGE);
  return { id: typeof id === 'string' ? id : '', role, parts };
}

const MESSAGE = 'A message is {"id": "…", "role": "user", "parts": [{"type": "text", "text": "…"}]}.';

function readSaid(messages: readonly UiMessage[], body: JsonObject): Said {
  const spoken = messages.map((message, at): SpokenMessage => {
    const isLast = at === messages.length - 1;
    return { role: message.role, text: textOf(message, `messages[${at}]`, isLast) };
  });
  const whole = wholeInput(spoken);
  const text = spoken.at(-1)?.text ?? '';
  // What was said is said again, or in other words: the session heard it already.
  const isEdited = body.trigger === 'submit-message' && typeof body.messageId === 'string';
  return { kind: 'message', text, whole, anew: body.trigger === 'regenerate-message' || isEdited };
}

function textOf({ parts }: UiMessage, where: string, strict: boolean): string {
  const texts = parts.flatMap((part) => {
    if (part.type === 'text' && typeof part.text === 'string') return [part.text];
    if (part.type === 'text') throw badRequest(`${where} has a part without its text.`, MESSAGE);
    if (strict && part.type === 'file')
      throw badRequest(
        `${where} has a file, which agents cannot be given.`,
        'Send text; put files where the agent can read them, and say where.',
      );
    return [];
  });
  return texts.join('\n\n');
}

/** What a person said about a call, in the AI SDK's own way. */
function approvalOf(part: JsonObject, by: string) {
  const { state, approval } = part;
  if (state !== 'approval-responded' || !isJsonObject(approval)) return [];
  const { id, approved, reason } = approval;
  if (typeof id !== 'string' || typeof approved !== 'boolean') return [];
  return [{ review: id, reply: { approved, by, ...(typeof reason === 'string' ? { note: reason } : {}) } }];
}
