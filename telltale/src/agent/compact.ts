import { shownTokens } from '../feeds/feed.ts';
import { RuntimeError, toRuntimeError } from '../lib/errors.ts';
import { estimateTokens, weighTokens } from '../lib/tokens.ts';
import { LLM_USAGE } from '../log/reduce.ts';
import type { Usage } from '../log/session-events.ts';
import type { Counted, SessionState } from '../log/state.ts';
import { namedRef } from '../manifest/schema/model-options.ts';
import { contextFiguresOf } from '../models/context-exceeded.ts';
import { DEFAULT_CONTEXT_WINDOW } from '../models/context-windows.ts';
import type { Model, ModelSink } from '../models/model.ts';
import {
  blockTokens,
  type CompactionOptions,
  type CompactionPlan,
  fitSummary,
  KEEP_TURNS,
  MAX_SUMMARIZED,
  planCompaction,
  whenToCompact,
} from '../prompt/compaction.ts';
import type { Conversation } from '../prompt/conversation.ts';
import type { Prompt } from '../prompt/prompt.ts';
import { withoutFlood } from '../prompt/text.ts';
import { costWith, estimateUsage } from './cost.ts';
import type { SessionContext } from './session-context.ts';
import { streamModel } from './stream-model.ts';

/** The part of a window that old turns may take in front of the model that sums them up. */
const SUMMARIZED_SHARE = 0.6;
const CHARACTERS_A_TOKEN = 4;
/** Characters of a summary; a model that goes on beyond them is cut off. */
const MAX_SUMMARY_CHARS = 32_768;

/**
 * Puts a summary in the place of old turns when the context window nears its end: once, in a big step. The log keeps
 * the originals. Where no model can write the summary, a script does.
 */
export function compactIfNeeded(
  context: SessionContext,
  conversation: Conversation,
): Promise<void> | undefined {
  const { state } = context;
  const contextWindow = contextWindowOf(context);
  // The coming prompt also holds what the model said last, what people said since, and one block of results.
  let estimated =
    (conversation.prompt()?.tokens ?? 0) +
    estimateTokens(withoutFlood(state.turns.at(-1)?.output ?? '', state.news.faults));
  for (const { text } of state.news.messages) estimated += estimateTokens(text);
  const coming = promptTokens(state, estimated) + blockTokens(contextWindow);
  const isNeeded = state.exceeded !== undefined || whenToCompact({ promptTokens: coming, contextWindow });
  if (!isNeeded) return undefined;
  // Where all that is there would stay by estimate, and the provider counts too much of it, some of it goes.
  return compact(context, conversation, coming > contextWindow ? KEPT_WHEN_FULL : KEPT);
}

const KEPT = [{ least: 0, most: KEEP_TURNS }];
const KEPT_WHEN_FULL = [...KEPT, { least: 0, most: 1 }, { least: 0, most: 0 }];

/** What a prompt that was refused keeps of the turns before: less, if that is still too much. */
const KEPT_WHEN_REFUSED = [
  { least: 1, most: KEEP_TURNS },
  { least: 1, most: 1 },
];

/**
 * The provider has refused the prompt of the turn in hand as too long: compacts what stands before it. Whether that has
 * made it shorter, so that it can be sent again.
 */
export async function compactRefused(context: SessionContext, conversation: Conversation): Promise<boolean> {
  const { state, stop } = context;
  const before = conversation.prompt()?.tokens ?? 0;
  let now = before;
  for (const keep of KEPT_WHEN_REFUSED.slice((state.exceeded ?? 1) - 1)) {
    await compact(context, conversation, [keep]);
    if (stop.reason !== undefined) return false;
    // Also where nothing was compacted: in a window that is smaller than was known, results have less room.
    now = conversation.rebuild(state)?.tokens ?? 0;
    if (now < before && promptTokens(state, now) <= contextWindowOf(context)) break;
  }
  return now < before;
}

/** Beyond this part of the window a prompt is not sent at all: what was only estimated may be off by so much. */
const SURELY_TOO_LONG = { counted: 1.05, estimated: 1.25 };

/** Whether the prompt is far too long for a window that is known: then nobody is asked. */
export function isTooLong({ model, state }: SessionContext, { tokens }: Prompt): boolean {
  if (model.contextWindow === undefined && state.window === undefined) return false;
  const slack = state.counted === undefined ? SURELY_TOO_LONG.estimated : SURELY_TOO_LONG.counted;
  return promptTokens(state, tokens) > contextWindowOf({ model, state }) * slack;
}

/**
 * Whether the system prompt and the tools alone fill a window that is known: nobody is asked. Once a provider has counted
 * a prompt, it knows better.
 */
export const hasNoRoom = ({ model, state }: SessionContext, systemTokens: number): boolean =>
  state.counted === undefined &&
  (model.contextWindow !== undefined || state.window !== undefined) &&
  systemTokens >= contextWindowOf({ model, state });

/** The prompt of the coming turn once more, with all turns before it compacted. */
export async function extendAnew(context: SessionContext, conversation: Conversation): Promise<Prompt> {
  conversation.rebuild(context.state);
  await compact(context, conversation, [{ least: 0, most: 0 }]);
  return conversation.extend(context.state);
}

async function compact(
  context: SessionContext,
  conversation: Conversation,
  kept: readonly NonNullable<CompactionOptions['keep']>[],
): Promise<void> {
  const { state, log, manifest } = context;
  const contextWindow = contextWindowOf(context);
  const model = await summarizer(context).catch(toRuntimeError);
  const options = {
    agent: manifest,
    seal: state.seal,
    parts: context.deps.prepared.parts,
    contextWindow: contextWindow / tokensPerEstimated(state),
    systemTokens: conversation.systemTokens(),
    ...(model === undefined || model instanceof RuntimeError
      ? {}
      : { maxChars: Math.min(MAX_SUMMARIZED, readableChars(context, model)) }),
  };
  let plan: CompactionPlan | undefined;
  for (const keep of kept) plan ??= planCompaction(state, { ...options, keep });
  if (plan === undefined) return;
  const written = await writeSummary(context, plan, model);
  if (context.stop.reason !== undefined) return payFor(context, written);
  const feeds = state.feeds.size === 0 ? {} : { feed_tokens: shownTokens(contextWindow) };
  log.append(
    { type: 'prompt.compacted', through: plan.through, ...written, ...feeds },
    context.sessionOrigin(),
  );
  conversation.rebuild(state);
}

const SUMMARIZE =
  'Summarize this conversation for the agent that takes it over: what the user wants, what is known, what was promised, what is open. Facts only, at most 200 words.';

const SUMMARY_TOKENS = 1_000;

/** A summary of what was said, by the model that writes summaries; undefined where there is none, or it has none to give. */
export async function summarizeText(context: SessionContext, text: string): Promise<string | undefined> {
  const model = await summarizer(context).catch(toRuntimeError);
  if (model === undefined) return undefined;
  if (model instanceof RuntimeError) {
    noteFailure(context, model);
    return undefined;
  }
  const messages = [{ role: 'user' as const, text }];
  const { summary, usage, problem } = await askSummary(context, model, {
    request: { system: SUMMARIZE, messages, maxOutputTokens: SUMMARY_TOKENS },
  });
  if (usage !== undefined) payFor(context, { summary, usage, cost_usd: costWith(model, usage) });
  if (problem !== undefined && context.stop.reason === undefined) noteFailure(context, problem);
  return problem === undefined && /\S/.test(summary) ? summary : undefined;
}

/** What a summary used that the session was stopped over: it stands for no turns, but counts. */
function payFor(context: SessionContext, { usage, cost_usd = 0 }: CompactWritten): void {
  if (usage === undefined) return;
  const data = { for: 'summary', ...usage, cost_usd };
  context.log.append({ type: 'custom', name: LLM_USAGE, data }, context.sessionOrigin());
}

interface CompactWritten {
  readonly summary: string;
  readonly usage?: Usage;
  readonly cost_usd?: number;
}

/** What the model that writes the summary can read, in characters, with room for what is asked and the answer. */
function readableChars(context: SessionContext, model: Model): number {
  const window =
    model === context.model ? contextWindowOf(context) : (model.contextWindow ?? DEFAULT_CONTEXT_WINDOW);
  return Math.floor((window / tokensPerEstimated(context.state)) * SUMMARIZED_SHARE * CHARACTERS_A_TOKEN);
}

async function writeSummary(
  context: SessionContext,
  plan: CompactionPlan,
  model: Model | RuntimeError | undefined,
): Promise<CompactWritten> {
  const { plainSummary, isTight } = plan;
  if (isTight) {
    tellTight(context);
    return { summary: plainSummary };
  }
  if (model instanceof RuntimeError) noteFailure(context, model);
  if (model === undefined || model instanceof RuntimeError) return { summary: plainSummary };
  try {
    const { summary, usage, problem } = await askSummary(context, model, plan);
    if (problem !== undefined && context.stop.reason === undefined) noteFailure(context, problem);
    const isWritten = problem === undefined && /\S/.test(summary);
    return {
      summary: isWritten ? fitted(context, model, plan, summary) : plainSummary,
      ...(usage === undefined ? {} : { usage, cost_usd: costWith(model, usage) }),
    };
  } catch (thrown) {
    noteFailure(context, thrown);
    return { summary: plainSummary };
  }
}

/** Once: every turn would say it, and nobody is asked for summaries that are as short as the script's. */
function tellTight(context: SessionContext): void {
  const { log, state, model } = context;
  if (state.compaction !== undefined) return;
  const what = `The context window of ${model.id} (${contextWindowOf(context)} tokens) has little room for more than the system prompt, so nearly every turn has to be summarized. Shorten the instructions, offer fewer tools, or use a model with a larger window.`;
  log.append({ type: 'audit', who: 'runtime', what }, context.sessionOrigin());
}

/** A summary that is longer than it may be would fill the window again: it is cut, and the log says so. */
function fitted(
  context: SessionContext,
  { id }: Model,
  { maxTokens }: CompactionPlan,
  summary: string,
): string {
  const short = fitSummary(summary, maxTokens);
  if (short !== summary) {
    const what = `The summary by ${id} was cut: it has about ${estimateTokens(summary)} tokens, and the context window has room for ${maxTokens}.`;
    context.log.append({ type: 'audit', who: 'runtime', what }, context.sessionOrigin());
  }
  return short;
}

/** What a model wrote and used. Nothing is owed for a request that failed before its first word. */
async function askSummary(
  { stop, clock }: SessionContext,
  model: Model,
  { request }: Pick<CompactionPlan, 'request'>,
): Promise<{ readonly summary: string; readonly usage?: Usage; readonly problem?: unknown }> {
  const abort = new AbortController();
  const forget = stop.onStop(() => abort.abort());
  let summary = '';
  let reasoned = 0;
  let isCut = false;
  const sink: ModelSink = {
    text(delta) {
      if (isCut) return;
      summary += delta;
      if (summary.length <= MAX_SUMMARY_CHARS) return;
      summary = summary.slice(0, MAX_SUMMARY_CHARS);
      isCut = true;
      abort.abort();
    },
    reasoning(delta) {
      reasoned += weighTokens(delta);
    },
  };
  try {
    const { usage } = await streamModel(model, { ...request, turn: 1, signal: abort.signal }, sink, clock);
    return { summary, usage: usage ?? estimateUsage(request, summary, reasoned) };
  } catch (problem) {
    const isHeard = summary !== '' || reasoned > 0;
    const usage = isHeard ? { usage: estimateUsage(request, summary, reasoned) } : {};
    return isCut ? { summary, ...usage } : { summary, ...usage, problem };
  } finally {
    forget();
  }
}

function noteFailure(context: SessionContext, thrown: unknown): void {
  const { log, manifest, model } = context;
  const { code, message } = toRuntimeError(thrown);
  const what = `${namedRef(manifest.models.fast) ?? model.id} wrote no summary (${code}): ${message}`;
  log.append({ type: 'audit', who: 'runtime', what }, context.sessionOrigin());
}

/** The agent's `fast` model, else its own; a script has no summary to give. */
async function summarizer({ manifest, model, deps }: SessionContext): Promise<Model | undefined> {
  if (manifest.models.fast !== undefined) return deps.prepared.fastModel();
  return model.id.startsWith('scripted:') ? undefined : model;
}

interface CompactAsked {
  readonly model: Model;
  readonly state: SessionState;
}

/** Tokens that the session's model can read. */
export const contextWindowOf = ({ model, state }: CompactAsked): number =>
  Math.min(model.contextWindow ?? DEFAULT_CONTEXT_WINDOW, state.window ?? Number.POSITIVE_INFINITY);

/** A provider that counts less than a part of what is there leaves out what it had in its cache, or counts nothing. */
const LEAST_SHARE = 0.25;

/** No text has more tokens for each that is estimated here: a provider that counts more counts something else. */
const MOST_PER_ESTIMATED = 3;

/** How many tokens the provider counts for one that is estimated here, at least one. */
function tokensPerEstimated({ counted }: Pick<SessionState, 'counted'>): number {
  return counted === undefined ? 1 : Math.max(1, perEstimated(counted));
}

const perEstimated = ({ input, estimated }: Counted): number =>
  Math.min(MOST_PER_ESTIMATED, input / estimated);

/**
 * The tokens of a prompt, estimated at `estimated`: what the provider counted last, and what has been added since by
 * estimate. Without a count of the provider's the estimate has to do.
 */
function promptTokens(state: Pick<SessionState, 'counted'>, estimated: number): number {
  const { counted } = state;
  if (counted === undefined || counted.input < counted.estimated * LEAST_SHARE) return estimated;
  const added = estimated - counted.estimated;
  // Less than was counted: it was compacted since.
  if (added < 0) return estimated * perEstimated(counted);
  return counted.input + added * tokensPerEstimated(state);
}

/**
 * Whether a refusal cannot be right: however the provider counts, the prompt is far from filling the window that it
 * names, or is known for.
 */
export const isDoubtful = (asked: CompactAsked, { tokens }: Prompt): boolean =>
  tokens * MOST_PER_ESTIMATED <= contextWindowOf(asked);

/** Prompts in a row that a provider may refuse as too long; each is shorter than the one before. */
export const MAX_REFUSALS = 3;

/** Where nobody says how much the model can read: this part of what it could not. */
const GUESSED_SHARE = 0.9;

/** A refused prompt that is shorter than this part of the known window does not yet say that the window is smaller. */
const ODD_SHARE = 0.05;

/** What is known of the window, and of the prompt in hand, once the provider has refused that as too long. */
export function exceededBy(
  { model, state }: CompactAsked,
  error: RuntimeError,
): { readonly window: number; readonly tokens: number } | undefined {
  if (error.code !== 'model_context_exceeded') return undefined;
  const figures = contextFiguresOf(error);
  const counted = figures.tokens ?? Math.round(promptTokens(state, state.promptTokens ?? 0));
  const known = contextWindowOf({ model, state });
  const isOdd = state.exceeded === undefined && counted < known * ODD_SHARE;
  const told = figures.window ?? (isOdd ? known : Math.round(counted * GUESSED_SHARE));
  const window = Math.max(1, Math.min(known, told));
  return {
    window,
    tokens: figures.window === undefined && isOdd ? counted : Math.max(counted, window + 1),
  };
}

/** Why a prompt cannot be sent, and what can be done about it. `cause` is the provider's own refusal. */
export function contextTooSmall(
  { model, state }: CompactAsked,
  prompt: Prompt,
  systemTokens: number,
  cause?: RuntimeError,
): RuntimeError {
  const scale = tokensPerEstimated(state);
  const about = (tokens: number) => Math.round(tokens * scale).toLocaleString('en');
  const window = contextWindowOf({ model, state });
  const told = cause === undefined ? '' : ` ${cause.message}`;
  return new RuntimeError(
    'model_context_exceeded',
    `The prompt does not fit into the context window of ${model.id}, ${window.toLocaleString('en')} tokens: it has about ${about(prompt.tokens)}, ${about(systemTokens)} of them in the system prompt and the tools, and nothing more can be left out of it.${told}`,
    {
      hint: 'Shorten the instructions or the message, offer fewer tools, or use a model with a larger window. If this one can read more, say so with "context_window" in the manifest.',
    },
  );
}
