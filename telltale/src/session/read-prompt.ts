import { setImmediate } from 'node:timers/promises';
import type {
  CountedMessage,
  CountedPart,
  PromptContent,
  PromptDifference,
  SessionPrompt,
} from '../events/session-prompt.ts';
import type { SessionState } from '../events/state.ts';
import type { PromptFrame } from '../events/turn-event.ts';
import { readTurnParts } from '../kernel/call-frames.ts';
import type { Json } from '../kernel/json.ts';
import { envOf, hideEnv } from '../manifest/env/hide-env.ts';
import type { PromptMessage } from '../prompt/prompt.ts';
import { hashWith } from '../prompt/prompt-hash.ts';
import { promptParts } from '../prompt/prompt-parts.ts';
import type { AskedPrompt } from './asked-prompt.ts';
import { changedFiles } from './code-files.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import { readSession, sessionEmpty } from './read-session.ts';
import { loadAgain } from './ready-to-resume.ts';
import { type FoundTurn, findTurn, type RebuiltPrompt, rebuildPrompt } from './rebuild-prompt.ts';
import { requestOptionsOf } from './request-options.ts';
import type { RuntimeDeps } from './runtime-edges.ts';

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
    const request = await requestOptionsOf(own?.model ?? state.model, face, { env, clock });
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
      model: state.model,
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
