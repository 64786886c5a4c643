import type { Context, Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { LoadedAgent } from '../../../agent/loaded-agent.ts';
import type { Session } from '../../../agent/runtime-types.ts';
import { RuntimeError, toRuntimeError } from '../../../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts';
import { speakerEventOf } from '../../../log/fold-handoffs.ts';
import type { CatalogEntry } from '../../catalog/agent-catalog.ts';
import { badRequest, headersOf } from '../../http/error-answer.ts';
import { accepted } from '../../routes/admitted.ts';
import type { AppEnv, ServerDeps } from '../../server-edges.ts';
import { createElsewhere } from '../chats.ts';
import {
  addUsage,
  createExchange,
  createExchangeFold,
  type Exchange,
  NO_USAGE,
} from '../exchange/exchange.ts';
import {
  contentText,
  kindOf,
  optionalText,
  readId,
  readList,
  readObject,
  type SpokenMessage,
  wholeInput,
} from '../read-fields.ts';
import { SESSION_HEADER, serveExchange } from '../serve-exchange.ts';
import type { Completion, ModelInfo } from './completion.ts';
import { aboutParam, openAiAnswer, openAiError } from './completion.ts';
import { BETWEEN_ANSWERS, completionUsage, createCompletionFold } from './create-completion-fold.ts';

const LAST = '[DONE]';
/** An agent may have acted before it failed: a client must not ask again on its own. */
const NO_RETRY = { 'x-should-retry': 'false' } as const;
const GONE = 'The client went away.';

/**
 * `/v1/chat/completions` and `/v1/models`: agents as models. Each request is a session of its own, which is cancelled when
 * its client goes away: nobody else would read the answer.
 */
export function mountOpenAi(app: Hono<AppEnv>, deps: ServerDeps): void {
  const { runtime, catalog, clock, closing } = deps;
  const elsewhere = createElsewhere(deps);

  const start = async (
    agent: LoadedAgent<unknown>,
    { input, user }: CompletionRequest,
  ): Promise<Exchange> => {
    const { queued, place } = await accepted(deps, 'session');
    let session: Session<unknown>;
    try {
      session = runtime.start(agent, {
        input,
        onWaiting: 'hold',
        queued,
        ...(user === undefined ? {} : { user }),
      });
    } finally {
      place?.release(); // it has its own by now
    }
    const fold = createExchangeFold({ kind: 'session' }, [], false);
    return createExchange(session, {
      since: 0,
      fold,
      replays: false,
      closing,
      elsewhere: elsewhere.of(session.id),
    });
  };
  const cancelled = async (exchange: Exchange) => {
    const { session } = exchange;
    await session.cancel(GONE);
    // It was on its way to another process.
    if (exchange.session !== session) await exchange.session.cancel(GONE);
  };
  const cancel = (exchange: Exchange) => void cancelled(exchange).catch(deps.onError);
  const headOf = ({ session }: Exchange, model: string) => ({
    id: `chatcmpl-${session.id}`,
    created: Math.floor(clock.now() / 1_000),
    model,
  });

  const streamed = async (
    c: Context<AppEnv>,
    agent: LoadedAgent<unknown>,
    request: CompletionRequest,
  ): Promise<Response> => {
    const exchange = await start(agent, request);
    const fold = createCompletionFold({
      ...headOf(exchange, request.model),
      includeUsage: request.includeUsage,
      checked: agent.manifest.output !== undefined,
      first: movesOn(agent) ? agent.manifest.name : undefined,
    });
    const options = { last: LAST, onGone: () => cancel(exchange) };
    return serveExchange(c, deps, exchange, fold, options) ?? c.body(null, 204);
  };

  const whole = async (
    c: Context<AppEnv>,
    agent: LoadedAgent<unknown>,
    request: CompletionRequest,
  ): Promise<Response> => {
    const { signal } = c.req.raw;
    signal.throwIfAborted();
    const exchange = await start(agent, request);
    const onGone = () => cancel(exchange);
    signal.addEventListener('abort', onGone, { once: true });
    let usage = NO_USAGE;
    const said: { agent: string; text: string }[] = [];
    exchange.follow({
      event(given) {
        usage = addUsage(usage, given);
        const { speaker, event } = speakerEventOf(given) ?? { event: given };
        if (event.type === 'response' && event.final)
          said.push({ agent: speaker ?? agent.manifest.name, text: event.text });
      },
      end: () => undefined,
    });
    const end = await exchange.over;
    signal.removeEventListener('abort', onGone);
    c.set('about', exchange.session.id);
    const headers = { [SESSION_HEADER]: exchange.session.id };
    if (end.kind === 'answered') {
      const isOfSeveral = movesOn(agent) && said.length > 0;
      const content = isOfSeveral ? said.map(({ text }) => text).join(BETWEEN_ANSWERS) : end.text;
      const completion: Completion = {
        ...headOf(exchange, request.model),
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content, refusal: null },
            logprobs: null,
            finish_reason: 'stop',
          },
        ],
        usage: completionUsage(usage),
        ...(isOfSeveral ? { telltale: { said } } : {}),
      };
      return c.json(completion, 200, headers);
    }
    const error =
      end.kind === 'failed'
        ? end.error
        : {
            code: 'session_cancelled',
            message: end.kind === 'stopped' ? end.reason : 'It waits for people.',
          };
    const status = error.code === 'closing' ? 503 : 500;
    return c.json(openAiError(error, 'server_error'), status, { ...headers, ...NO_RETRY });
  };

  const guarded =
    (handle: (c: Context<AppEnv>) => Promise<Response> | Response) =>
    async (c: Context<AppEnv>): Promise<Response> => {
      try {
        return await handle(c);
      } catch (thrown) {
        // A mistake of ours is answered like any other.
        if (!(thrown instanceof RuntimeError) || thrown.code === 'internal') throw thrown;
        const { status, body } = openAiAnswer(thrown);
        // Where nothing was begun the client may ask again, when it was told to.
        const headers = thrown.code === 'fleet_full' ? headersOf(thrown) : NO_RETRY;
        return c.json(body, status as ContentfulStatusCode, headers);
      }
    };

  app.post(
    '/v1/chat/completions',
    guarded(async (c) => {
      const request = readCompletionRequest(await readObject(c));
      const agent = catalog.find(request.model);
      return request.stream ? streamed(c, agent, request) : whole(c, agent, request);
    }),
  );
  app.get('/v1/models', (c) =>
    c.json({ object: 'list', data: catalog.list().filter(isUsable).map(modelOf) }),
  );
  app.get(
    '/v1/models/:model',
    guarded((c) => {
      const name = c.req.param('model') ?? '';
      catalog.find(name);
      const entry = catalog.list().find((each) => each.name === name);
      return c.json(entry === undefined ? null : modelOf(entry));
    }),
  );
}

const movesOn = ({ manifest }: LoadedAgent<unknown>): boolean =>
  manifest.handoff.length > 0 || manifest.group !== undefined;

const isUsable = ({ agent }: CatalogEntry): boolean => agent !== undefined;

const modelOf = ({ name, loadedAt }: CatalogEntry): ModelInfo => ({
  id: name,
  object: 'model',
  created: Math.floor(loadedAt / 1_000),
  owned_by: 'telltale',
});

export interface CompletionRequest {
  /** The agent. */
  readonly model: string;
  readonly input: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly user: string | undefined;
}

/** Reads the body of a request. Parameters that only tune a model are passed over. Throws `bad_request`. */
function readCompletionRequest(body: JsonObject): CompletionRequest {
  const model = about('model', () => readId(body, 'model'));
  for (const [param, refusal] of REFUSED) {
    const value = body[param];
    const why = value === undefined || value === null ? undefined : refusal(value);
    if (why !== undefined) throw aboutParam(param, badRequest(`"${param}" ${why.found}`, why.hint));
  }
  return {
    model,
    input: about('messages', () => wholeInput(readMessages(body.messages))),
    stream: about('stream', () => flag(body, 'stream')),
    includeUsage: isJsonObject(body.stream_options) && body.stream_options.include_usage === true,
    user: about('user', () => optionalText(body, 'user')),
  };
}

const ROLES: Readonly<Record<string, SpokenMessage['role'] | undefined>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  function: 'tool',
};

function readMessages(messages: unknown): readonly SpokenMessage[] {
  return readList(messages).map((message, at, { length }) => {
    const where = `messages[${at}]`;
    if (!isJsonObject(message)) throw badRequest(`${where} is ${kindOf(message)}.`, MESSAGE);
    const role = typeof message.role === 'string' ? ROLES[message.role] : undefined;
    if (role === undefined)
      throw badRequest(`${where} has the role ${JSON.stringify(message.role ?? null)}.`, MESSAGE);
    return { role, text: contentText(message.content, where, at === length - 1) };
  });
}

const MESSAGE =
  'A message is {"role": "user", "content": "…"}; roles are system, developer, user, assistant and tool.';

interface OpenaiRoutesRefusal {
  readonly found: string;
  readonly hint: string;
}

const refuse = (found: string, hint: string): OpenaiRoutesRefusal => ({ found, hint });
const unless =
  (isFine: (value: Json) => boolean, found: string, hint: string) =>
  (value: Json): OpenaiRoutesRefusal | undefined =>
    isFine(value) ? undefined : refuse(found, hint);
const isEmpty = (value: Json): boolean => Array.isArray(value) && value.length === 0;

const OWN_TOOLS = 'An agent calls the tools of its manifest: give it those there.';

/** What would change the meaning of an answer, if it were passed over. */
const REFUSED: readonly (readonly [
  param: string,
  refusal: (value: Json) => OpenaiRoutesRefusal | undefined,
])[] = [
  [
    'n',
    unless((value) => value === 1, 'asks for several answers; an agent gives one.', 'Send several requests.'),
  ],
  ['tools', unless(isEmpty, 'cannot be given to an agent.', OWN_TOOLS)],
  ['functions', unless(isEmpty, 'cannot be given to an agent.', OWN_TOOLS)],
  [
    'tool_choice',
    unless((value) => value === 'none' || value === 'auto', 'cannot be chosen for an agent.', OWN_TOOLS),
  ],
  [
    'response_format',
    unless(
      (value) => isJsonObject(value) && value.type === 'text',
      'asks for something else than text.',
      'Declare "output" in the agent\'s manifest: its answers then fit that schema.',
    ),
  ],
  ['stop', unless(isEmpty, 'would cut the answer of an agent.', 'Cut it where you read it.')],
  ['logprobs', unless((value) => value === false, 'cannot be had of an agent.', 'Leave it out.')],
  [
    'modalities',
    unless(
      (value) => Array.isArray(value) && value.every((each) => each === 'text'),
      'asks for something else than text.',
      'Leave it out.',
    ),
  ],
  ['audio', () => refuse('cannot be had of an agent.', 'Leave it out.')],
];

function flag(body: JsonObject, field: string): boolean {
  const value = body[field];
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw badRequest(`"${field}" is ${kindOf(value)}.`, 'Send true or false.');
  return value;
}

/** What is wrong with a field is said with its name. */
function about<Value>(param: string, read: () => Value): Value {
  try {
    return read();
  } catch (thrown) {
    throw aboutParam(param, toRuntimeError(thrown));
  }
}
