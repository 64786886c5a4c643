import { setImmediate } from 'node:timers/promises';
import { readTurnParts } from '../lib/calls.ts';
import type { Clock } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { EventOf, SessionEvent } from '../log/event.ts';
import type { PromptFrame } from '../log/session-events.ts';
import type {
  CountedMessage,
  CountedPart,
  PromptContent,
  PromptDifference,
  SessionPrompt,
} from '../log/session-prompt.ts';
import type { SessionState } from '../log/state.ts';
import { envOf, hideEnv } from '../manifest/environment.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { namedOptions, namedRef } from '../manifest/schema/model-options.ts';
import type { Model } from '../models/model.ts';
import { openModel, withSettings } from '../models/open-model.ts';
import { createConversation } from '../prompt/conversation.ts';
import { type CountedOpening, hashWith, type Opening, promptParts } from '../prompt/opening.ts';
import type { PromptMessage } from '../prompt/prompt.ts';
import type { Store } from '../store/store.ts';
import type { AskedPrompt } from './asked-prompt.ts';
import { environmentOf } from './begin-session.ts';
import { changedFiles } from './code-files.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import type { Face } from './model-interface.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import { readEvents, readSession, sessionEmpty } from './read-session.ts';
import { loadAgain } from './ready-to-resume.ts';
import type { RuntimeDeps } from './runtime-deps.ts';
import type { PromptPreviewOptions } from './runtime-types.ts';

/** The agent of a session, read again from its files. */
export async function agentOfPrompt(
  { store, env, cwd }: Pick<RuntimeDeps, 'store' | 'env' | 'cwd'>,
  session: string,
  signal?: AbortSignal,
): Promise<LoadedAgent> {
  const state = await readSession(store, session, undefined, signal);
  if (state.seq === 0) throw sessionEmpty(session);
  const hint = 'Ask the program that has it: runtime.prompt(session, turn, { agent }).';
  return loadAgain(state, { env, cwd, ...(signal && { signal }) }, hint);
}

/** Rebuilds the prompt of a turn; of the newest one without a number. */
export async function readPrompt(
  {
    store,
    shelf,
    tokenizer,
    env,
    clock,
  }: Pick<RuntimeDeps, 'store' | 'shelf' | 'tokenizer' | 'env' | 'clock'>,
  session: string,
  agent: LoadedAgent<unknown>,
  { turn, hideEnvironment = false, signal }: AskedPrompt,
  /** What the session runs with, where it runs here. */
  own?: PreparedAgent,
): Promise<SessionPrompt> {
  const found = await findTurn(store, session, turn, signal);
  const { state, started, ended, last } = found;
  const prepared = own ?? (await shelf.look(agent));
  try {
    const face = prepared.face(state.led === true);
    const rebuilt = rebuildPrompt(found, face);
    const request = await requestOptionsOf(started.model ?? own?.model ?? state.model, face, agent.manifest, {
      env,
      clock,
    });
    const { count } = await tokenizer();
    const messages: CountedMessage[] = [];
    let uncounted = 0;
    for (const [index, message] of rebuilt.messages.entries()) {
      const content = contentOf(message);
      const { role, text } = message;
      const turn = rebuilt.turns[index] ?? started.turn;
      const tokens = content.reduce((all, part) => all + count(countedText(part)), 0);
      messages.push({ role, turn, new: index >= rebuilt.known, tokens, content });
      uncounted += text.length;
      if (uncounted < MAX_AT_ONCE) continue;
      uncounted = 0;
      await setImmediate();
    }
    const { system, tools } = promptParts(rebuilt.opening, count);
    const tokens = {
      system: sum(system),
      tools: sum(tools),
      messages: sum(messages),
      new: sum(messages.filter((message) => message.new)),
    };
    const shown = <T extends readonly CountedPart[]>(parts: T): T =>
      hideEnvironment
        ? (hideEnv(parts as unknown as Json, envOf(agent.project.manifests)) as unknown as T)
        : parts;
    return {
      session,
      agent: state.agent,
      model: started.model ?? state.model,
      dialect: agent.manifest.dialect,
      turn: started.turn,
      last,
      seq: started.seq,
      at: started.at,
      system: shown(system),
      messages,
      tools: shown(tools),
      options: rebuilt.opening.options,
      ...(request === undefined ? {} : { request }),
      tokens: { total: tokens.system + tokens.tools + tokens.messages, ...tokens },
      ...(ended?.usage === undefined ? {} : { usage: ended.usage }),
      ...compared(found, rebuilt, changeOf(state, agent)),
    };
  } finally {
    if (own === undefined) shelf.release(prepared);
  }
}

/** Characters that are counted before others of this process have their turn. */
const MAX_AT_ONCE = 65_536;

const sum = (parts: readonly { readonly tokens: number }[]): number =>
  parts.reduce((all, { tokens }) => all + tokens, 0);

/** What is sent of a message, in its order: text, native calls and reasoning that the provider wants back. */
function contentOf({ text, answers, parts = [] }: PromptMessage): readonly PromptContent[] {
  if (answers !== undefined) return answers.map((answer) => ({ type: 'result', ...answer }));
  const content: PromptContent[] = [];
  let from = 0;
  const say = (until: number) => {
    for (const part of readTurnParts(text.slice(from, until)))
      if (part.type === 'text') content.push(part);
      else if (part.type === 'call')
        content.push({ type: 'call', id: part.id, name: part.name, input: part.input });
    from = until;
  };
  for (const part of parts) {
    say(part.at);
    if (part.type === 'reasoning') content.push({ type: 'reasoning', text: part.text ?? '' });
  }
  say(text.length);
  return content;
}

const countedText = (part: PromptContent): string =>
  part.type === 'call' ? `${part.name}${part.input}` : part.text;

/** What has changed of the agent since the turn, for people. */
function changeOf({ manifest }: SessionState, agent: LoadedAgent<unknown>): string | undefined {
  if (manifest.hash !== agent.hash) return `the manifest ${manifest.path} has changed since`;
  const files = changedFiles(agent, manifest.files);
  return files.length === 0 ? undefined : `files of the agent have changed since: ${files.join(', ')}`;
}

function compared(
  { started, frame }: FoundTurn,
  rebuilt: RebuiltPrompt,
  change: string | undefined,
): Pick<SessionPrompt, 'hash' | 'match' | 'differs' | 'note'> {
  const { hash: sent } = started.prompt;
  if (sent === undefined) {
    const note = 'The log has no hash of this prompt, so it is not known whether this is what was sent';
    return {
      hash: { rebuilt: rebuilt.hash },
      match: 'unknown',
      note: change === undefined ? `${note}.` : `${note}: ${change}.`,
    };
  }
  const hash = { sent, rebuilt: rebuilt.hash };
  if (sent === rebuilt.hash) return { hash, match: 'same' };
  const differs = frame === undefined ? [] : differences(frame, sent, rebuilt);
  const what = differs.length === 0 ? 'This is not what was sent' : sentenceOf(differs);
  return {
    hash,
    match: 'differs',
    note: `${what}: ${change ?? otherwise(differs)}.`,
    ...(differs.length === 0 ? {} : { differs }),
  };
}

/** The messages are the same if they make the hash that was sent, behind what stood before them then. */
function differences(
  frame: PromptFrame,
  sent: string,
  { opening, messages }: RebuiltPrompt,
): readonly PromptDifference[] {
  const changed = (['system', 'tools', 'options'] as const).filter(
    (part) => frame[part] !== opening.frame[part],
  );
  return hashWith(frame.hash, messages) === sent ? changed : [...changed, 'messages'];
}

const WORDS: Readonly<Record<PromptDifference, string>> = {
  system: 'the system prompt',
  tools: 'the tools',
  options: 'the options',
  messages: 'the messages',
};

function sentenceOf(differs: readonly PromptDifference[]): string {
  const words = differs.map((part) => WORDS[part]);
  const [last = ''] = words.slice(-1);
  const list = words.length === 1 ? last : `${words.slice(0, -1).join(', ')} and ${last}`;
  return `This is not what was sent. ${list.charAt(0).toUpperCase()}${list.slice(1)} ${list === WORDS.system ? 'differs' : 'differ'}`;
}

/** Why a prompt may differ although nothing of the agent has changed. In the dialect `tags` the system prompt names the tools. */
function otherwise(differs: readonly PromptDifference[]): string {
  const mayBeTools = differs.length === 0 || differs.includes('system') || differs.includes('tools');
  return mayBeTools
    ? 'the manifest is the same, but an MCP server may offer other tools by now, or the session ran on another version of Telltale'
    : 'the manifest is the same, but the session ran on another version of Telltale';
}

/** A turn on the log of its session. */
export interface FoundTurn {
  /** The session as it was when the turn had just begun. */
  readonly state: SessionState;
  /** Of a request that was made again, the last one. */
  readonly started: EventOf<'turn.started'>;
  /** How that request ended; undefined while it runs. */
  readonly ended: EventOf<'turn.completed'> | EventOf<'turn.failed'> | undefined;
  /** What stood before and beside its messages; undefined on logs of earlier versions. */
  readonly frame: PromptFrame | undefined;
  /** The session when the turn before had just begun; undefined for the first. */
  readonly before: SessionState | undefined;
  /** The number of the session's newest turn. */
  readonly last: number;
}

/** What a turn was asked with, made from the log as the session's loop makes it. */
export interface RebuiltPrompt {
  readonly opening: Opening;
  readonly messages: readonly PromptMessage[];
  /** For each message the turn whose request had it first, as far back as the messages go. */
  readonly turns: readonly number[];
  /** How many of the messages stood in the request of the turn before, too. */
  readonly known: number;
  readonly hash: string;
}

/** Finds a turn; the newest one where no number is given. Rejects with `turn_unknown` where there is none. */
async function findTurn(
  store: Store,
  session: string,
  turn?: number,
  signal?: AbortSignal,
): Promise<FoundTurn> {
  const events = await readEvents(store, session, 1, signal);
  if (events.length === 0) throw sessionEmpty(session);
  const starts = events.filter((event) => event.type === 'turn.started');
  const last = starts.at(-1)?.turn ?? 0;
  const started = starts.findLast((event) => event.turn === (turn ?? last));
  if (started === undefined) throw turnUnknown(session, turn ?? 1, last);
  const earlier = starts.findLast((event) => event.turn < started.turn);
  return {
    state: await readSession(store, session, started.seq, signal),
    started,
    ended: events.find((event): event is EndOfTurn => isEndOf(event, started)),
    frame: starts.findLast(({ seq, prompt }) => seq <= started.seq && prompt.frame !== undefined)?.prompt
      .frame,
    before: earlier && (await readSession(store, session, earlier.seq, signal)),
    last,
  };
}

type EndOfTurn = NonNullable<FoundTurn['ended']>;

const isEndOf = ({ type, seq, turn }: SessionEvent, started: FoundTurn['started']): boolean =>
  seq > started.seq && turn === started.turn && (type === 'turn.completed' || type === 'turn.failed');

/** Makes the prompt of a turn anew, with an agent as it is now. */
function rebuildPrompt({ state, before }: Pick<FoundTurn, 'state' | 'before'>, face: Face): RebuiltPrompt {
  const opening = face.opening(state);
  const turns: number[] = [];
  const prompt = createConversation(opening).rebuild(state, (turn, { count }) => {
    while (turns.length < count) turns.push(turn);
  });
  const messages = prompt?.messages.slice(0, prompt.count) ?? [];
  const earlier = before && createConversation(opening).rebuild(before);
  const old = earlier?.messages.slice(0, earlier.count) ?? [];
  const changed = old.findIndex((message, index) => !isSame(message, messages[index]));
  return {
    opening,
    messages,
    turns,
    hash: prompt?.hash ?? opening.frame.hash,
    known: changed === -1 ? old.length : changed,
  };
}

const isSame = (one: PromptMessage, other: PromptMessage | undefined): boolean =>
  one.role === other?.role && one.text === other.text;

const turnUnknown = (session: string, turn: number, last: number) =>
  new RuntimeError(
    'turn_unknown',
    last === 0 ? `${session} has not asked its model yet.` : `${session} has no turn ${turn}.`,
    { hint: last === 0 ? 'Look again once its first turn has begun.' : `Its last turn is ${last}.` },
  );

/** Stands for the key that a session with `protocol.seal` makes when it begins. */
const SAMPLE_SEAL = 'KEY-OF-SESSION';

/** What a session of an agent that began now would be sent before its first message. Nothing is run or kept. */
export async function previewPrompt(
  { shelf, clock, tokenizer, env }: RuntimeDeps,
  agent: LoadedAgent<unknown>,
  { led }: PromptPreviewOptions,
): Promise<CountedOpening> {
  const { manifest, folder } = agent;
  const prepared = await shelf.look(agent);
  try {
    const face = prepared.face(led ?? manifest.workflow !== null);
    const opening = face.opening({
      environment: environmentOf(clock, folder),
      ...(manifest.protocol.seal ? { seal: SAMPLE_SEAL } : {}),
    });
    const { count } = await tokenizer();
    const request = await requestOptionsOf(manifest.model, face, manifest, { env, clock });
    return { ...promptParts(opening, count), ...(request === undefined ? {} : { request }) };
  } finally {
    shelf.release(prepared);
  }
}

interface PromptsDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/**
 * The options with which the provider of a model is asked, as its package writes them. Undefined where they are not
 * known: of scripted models, of a program's own, and where the package is not installed.
 */
async function requestOptionsOf(
  model: string | Model | undefined,
  { calls }: Face,
  { models, model_options }: Pick<AgentManifest, 'models' | 'model_options'>,
  { env, clock }: PromptsDeps,
): Promise<JsonObject | undefined> {
  if (model === undefined) return undefined;
  const request = calls?.request ?? {};
  if (typeof model !== 'string') return model.requestOptions?.(request);
  const entry = models[model];
  const opened = await openUnasked(namedRef(entry) ?? model, { env, clock });
  if (opened === undefined) return undefined;
  const options = { ...model_options, ...namedOptions(entry) };
  return withSettings(opened, { options }).requestOptions?.(request);
}

async function openUnasked(ref: string, deps: PromptsDeps): Promise<Model | undefined> {
  if (ref.startsWith('scripted:')) return undefined;
  try {
    return await openModel(ref, { ...deps, folder: '.', unasked: true });
  } catch (thrown) {
    // An id of a program's own names no provider; a package that is missing was there when the session ran.
    if (thrown instanceof RuntimeError) return undefined;
    throw thrown;
  }
}
