import { isJsonObject, type JsonObject } from '../../../kernel/json.ts';
import { badRequest } from '../../http/http-errors.ts';
import type { Said } from '../chats.ts';
import { readList, type SpokenMessage, wholeInput } from '../conversation-input.ts';
import { contentText, kindOf, optionalText, readId } from '../read-fields.ts';

/** What a RunAgentInput asks for. */
export interface RunInput {
  readonly threadId: string;
  readonly runId: string;
  readonly said: Said;
  readonly agent: string | undefined;
  readonly user: string | undefined;
  readonly onClose: OnClose;
  readonly notes: readonly { readonly name: string; readonly value: JsonObject }[];
}

/** What becomes of an exchange whose client goes away: it is broken off, or goes on without it. */
export type OnClose = 'stop' | 'continue';

const ROLES: Readonly<Record<string, SpokenMessage['role'] | undefined>> = {
  user: 'user',
  assistant: 'assistant',
  system: 'system',
  developer: 'system',
  tool: 'tool',
};

/** Reads the body of a run. `by` answers for reviews. Throws `bad_request`. */
export function readRunInput(body: JsonObject, by: string): RunInput {
  const threadId = readId(body, 'threadId');
  const runId = readId(body, 'runId');
  const forwarded = isJsonObject(body.forwardedProps) ? body.forwardedProps : {};
  const said = hasEntries(body.resume) ? readResume(body.resume, by) : readMessages(body);
  const tools = Array.isArray(body.tools) ? body.tools.length : 0;
  return {
    threadId,
    runId,
    said,
    agent: optionalText(forwarded, 'agent'),
    user: optionalText(forwarded, 'user'),
    onClose: readOnClose(forwarded.on_close),
    notes: tools === 0 ? [] : [{ name: 'tools_ignored', value: { tools, message: TOOLS_IGNORED } }],
  };
}

export function readOnClose(value: unknown): OnClose {
  if (value === undefined || value === null) return 'stop';
  if (value === 'stop' || value === 'continue') return value;
  throw badRequest(`"on_close" is ${JSON.stringify(value)}.`, 'Send "stop" or "continue".');
}

const TOOLS_IGNORED = "Tools of the page are not called: the agent's own are in its manifest.";

const hasEntries = (value: unknown): value is readonly unknown[] => Array.isArray(value) && value.length > 0;

function readMessages(body: JsonObject): Said {
  const spoken = readList(body.messages).flatMap((message, at, { length }): readonly SpokenMessage[] => {
    const where = `messages[${at}]`;
    if (!isJsonObject(message) || typeof message.role !== 'string')
      throw badRequest(`${where} is ${isJsonObject(message) ? 'without a role' : kindOf(message)}.`, MESSAGE);
    const role = ROLES[message.role];
    // Thoughts and activities are told, not said.
    return role === undefined ? [] : [{ role, text: contentText(message.content, where, at === length - 1) }];
  });
  const context = readContext(body.context);
  return {
    kind: 'message',
    text: withContext(context, spoken.at(-1)?.text ?? ''),
    whole: withContext(context, wholeInput(spoken)),
  };
}

const MESSAGE = 'A message is {"id": "…", "role": "user", "content": "…"}.';

function readContext(context: unknown): readonly string[] {
  if (!Array.isArray(context)) return [];
  return context.map((entry: unknown, at) => {
    if (isJsonObject(entry) && typeof entry.description === 'string' && typeof entry.value === 'string')
      return `[${entry.description}] ${entry.value}`;
    throw badRequest(`context[${at}] lacks its description or value.`, 'Both are texts.');
  });
}

const withContext = (context: readonly string[], text: string): string =>
  context.length === 0 ? text : `${context.join('\n\n')}\n\n${text}`;

function readResume(entries: readonly unknown[], by: string): Said {
  const answers = entries.map((entry, at) => {
    const where = `resume[${at}]`;
    if (!isJsonObject(entry)) throw badRequest(`${where} is ${kindOf(entry)}.`, RESUME);
    const review = readId(entry, 'interruptId');
    if (entry.status === 'cancelled') return { review, reply: { approved: false, by, note: 'Dismissed.' } };
    const { payload } = entry;
    const approved = isJsonObject(payload) ? payload.approved : payload;
    if (entry.status !== 'resolved' || typeof approved !== 'boolean')
      throw badRequest(`${where} does not say whether it is approved.`, RESUME);
    const note = isJsonObject(payload) && typeof payload.note === 'string' ? payload.note : undefined;
    return { review, reply: { approved, by, ...(note === undefined ? {} : { note }) } };
  });
  return { kind: 'answers', answers };
}

const RESUME =
  'An entry is {"interruptId": "…", "status": "resolved", "payload": {"approved": true}} or has the status "cancelled".';
