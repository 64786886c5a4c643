import type { Context, Hono } from 'hono';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { AgentCatalog } from '../catalog/agent-catalog.ts';
import { badRequest } from '../http/error-answer.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { createAgUiFold } from './ag-ui/create-ag-ui-fold.ts';
import type { ChatsBegun } from './chats.ts';
import { type Chats, createChats, type Said } from './chats.ts';
import { mountOpenAi } from './openai/openai-routes.ts';
import {
  agentUnnamed,
  contentText,
  kindOf,
  noAgents,
  optionalText,
  readId,
  readList,
  readObject,
  type SpokenMessage,
  wholeInput,
} from './read-fields.ts';
import { serveExchange } from './serve-exchange.ts';
import { callId, createUiFold } from './ui-messages/create-ui-fold.ts';

/**
 * Standard front ends beside the server's own routes: AG-UI, the AI SDK's UI messages, and OpenAI's chat completions.
 * What they refuse before anything has begun is thrown as a `RuntimeError`, for the app to answer; `/v1` answers by itself,
 * in OpenAI's shape.
 */
export function mountProtocols(app: Hono<AppEnv>, deps: ServerDeps): void {
  const chats = createChats(deps);
  mountAgUi(app, deps, chats);
  mountUiMessages(app, deps, chats);
  mountOpenAi(app, deps);
}

/** `POST /ag-ui/:agent`: AG-UI 1.0 over server-sent events. A thread is a chat: its runs are exchanges of one session. */
function mountAgUi(app: Hono<AppEnv>, deps: ServerDeps, chats: Chats): void {
  const run = async (c: Context<AppEnv>, named: string | undefined): Promise<Response> => {
    const { by } = c.get('caller');
    const input = readRunInput(await readObject(c), by);
    const agent = chooseAgent(
      deps.catalog,
      named ?? input.agent,
      'in the path (/ag-ui/NAME) or as forwardedProps.agent',
    );
    const { threadId, runId, said, user, notes } = input;
    const begun = await chats.begin({ agent, thread: threadId, said, by, user, replays: false });
    const { exchange } = begun;
    const fold = createAgUiFold({
      threadId,
      runId,
      notes,
      agent: agent.manifest.name,
      model: agent.manifest.model ?? agent.manifest.name,
      session: exchange.session.id,
      exchange: exchange.id,
      metadata: begun.metadata,
      joins: said.kind === 'answers' ? { open: begun.open } : undefined,
    });
    const onGone = () => {
      if (input.onClose === 'stop') chats.breakOff(exchange);
    };
    return serveExchange(c, deps, exchange, fold, { onGone }) ?? c.body(null, 204);
  };
  app.post('/ag-ui', (c) => run(c, undefined));
  app.post('/ag-ui/:agent', (c) => run(c, c.req.param('agent')));
}

const HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' } as const;
const LAST = '[DONE]';

/**
 * `POST /chat` and `/chat/:agent`: the AI SDK's UI message stream, for `useChat`. A chat is a session. The stream of an
 * exchange that goes on without its client can be had again, from its beginning: `GET …/:id/stream`.
 */
function mountUiMessages(app: Hono<AppEnv>, deps: ServerDeps, chats: Chats): void {
  const chat = async (c: Context<AppEnv>, named: string | undefined): Promise<Response> => {
    const { by } = c.get('caller');
    const request = readChatRequest(await readObject(c), by);
    const agent = chooseAgent(
      deps.catalog,
      named ?? request.agent,
      'in the path (/chat/NAME) or as "agent" in the body',
    );
    const { id: thread, said, user, onClose } = request;
    const begun = await chats.begin({
      agent,
      thread,
      said,
      by,
      user,
      replays: onClose === 'continue' && said.kind === 'message',
    });
    const onGone = () => {
      if (onClose === 'stop') chats.breakOff(begun.exchange);
    };
    return serve(c, begun, agent.manifest.name, request, onGone);
  };
  const join = async (c: Context<AppEnv>, thread: string, agent?: string): Promise<Response> => {
    const found = await chats.current(thread, agent);
    // 204: there is nothing to go on with.
    return found === undefined
      ? c.body(null, 204)
      : serve(c, found.begun, found.agent, undefined, () => undefined);
  };
  const serve = (
    c: Context<AppEnv>,
    begun: ChatsBegun,
    agent: string,
    request: ChatRequest | undefined,
    onGone: () => void,
  ): Response => {
    const { exchange, metadata, reviews } = begun;
    const session = exchange.session.id;
    const goesOn = request?.goesOn;
    const open = begun.open.filter((action) => goesOn?.calls.includes(callId(session, action)) === true);
    const fold = createUiFold({
      agent,
      session,
      metadata,
      exchange: exchange.id,
      messageId: goesOn?.message ?? exchange.id,
      joins: goesOn === undefined ? undefined : { open, reviews },
    });
    const options = { headers: HEADERS, last: LAST, onGone };
    return serveExchange(c, deps, exchange, fold, options) ?? c.body(null, 204);
  };
  app.post('/chat', (c) => chat(c, undefined));
  app.post('/chat/:agent', (c) => chat(c, c.req.param('agent')));
  app.get('/chat/:id/stream', (c) => join(c, c.req.param('id')));
  app.get('/chat/:agent/:id/stream', (c) => join(c, c.req.param('id'), c.req.param('agent')));
}

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
function readChatRequest(body: JsonObject, by: string): ChatRequest {
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

/** The agent of that name; without one, the only one there is. `where` says how to name it. */
function chooseAgent(
  catalog: Pick<AgentCatalog, 'list' | 'find'>,
  name: string | undefined,
  where: string,
): LoadedAgent<unknown> {
  if (name !== undefined) return catalog.find(name);
  const names = catalog.list().map((entry) => entry.name);
  const [only] = names;
  if (only === undefined) throw noAgents();
  if (names.length > 1) throw agentUnnamed(names, where);
  return catalog.find(only);
}

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

function readOnClose(value: unknown): OnClose {
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
      throw badRequest(
        `${where} is ${isJsonObject(message) ? 'without a role' : kindOf(message)}.`,
        INPUT_MESSAGE,
      );
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

const INPUT_MESSAGE = 'A message is {"id": "…", "role": "user", "content": "…"}.';

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
