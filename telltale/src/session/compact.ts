import { LLM_USAGE } from '../events/reduce.ts';
import type { Usage } from '../events/turn-event.ts';
import { shownTokens } from '../feeds/limits.ts';
import { estimateTokens, weighTokens } from '../kernel/estimate-tokens.ts';
import { toRuntimeError } from '../kernel/runtime-error.ts';
import type { Model, ModelSink } from '../models/model.ts';
import { blockTokens, type CompactionPlan, planCompaction, whenToCompact } from '../prompt/compaction.ts';
import type { Conversation } from '../prompt/conversation.ts';
import { fitSummary } from '../prompt/fit-summary.ts';
import type { SessionContext } from './context.ts';
import { costWith, estimateUsage } from './cost.ts';
import { streamModel } from './stream-model.ts';

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
  const { model, state } = context;
  const { contextWindow } = model;
  if (contextWindow === undefined) return undefined;
  // The coming prompt also holds what the model said last, and one block of results.
  const said = estimateTokens(state.turns.at(-1)?.output ?? '');
  const promptTokens = (conversation.prompt()?.tokens ?? 0) + said + blockTokens(contextWindow);
  if (!whenToCompact({ promptTokens, contextWindow })) return undefined;
  return compact(context, conversation, contextWindow);
}

async function compact(
  context: SessionContext,
  conversation: Conversation,
  contextWindow: number,
): Promise<void> {
  const { state, log, manifest } = context;
  const plan = planCompaction(state, {
    agent: manifest,
    seal: state.seal,
    parts: context.edges.prepared.parts,
    contextWindow,
    systemTokens: estimateTokens(conversation.prompt()?.system ?? ''),
  });
  if (plan === undefined) return;
  const written = await writeSummary(context, plan);
  if (context.stop.reason !== undefined) return payFor(context, written);
  const feeds = state.feeds.size === 0 ? {} : { feed_tokens: shownTokens(contextWindow) };
  log.append(
    { type: 'prompt.compacted', through: plan.through, ...written, ...feeds },
    context.sessionOrigin(),
  );
  conversation.rebuild(state);
}

/** What a summary used that the session was stopped over: it stands for no turns, but counts. */
function payFor(context: SessionContext, { usage, cost_usd = 0 }: Written): void {
  if (usage === undefined) return;
  const data = { for: 'summary', ...usage, cost_usd };
  context.log.append({ type: 'custom', name: LLM_USAGE, data }, context.sessionOrigin());
}

interface Written {
  readonly summary: string;
  readonly usage?: Usage;
  readonly cost_usd?: number;
}

async function writeSummary(context: SessionContext, plan: CompactionPlan): Promise<Written> {
  const { plainSummary, isTight } = plan;
  if (isTight) {
    tellTight(context);
    return { summary: plainSummary };
  }
  try {
    const model = await summariser(context);
    if (model === undefined) return { summary: plainSummary };
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
  const what = `The context window of ${model.id} (${model.contextWindow} tokens) has hardly room for more than the system prompt: nearly every turn is summed up, by a script. Shorten the instructions, offer fewer tools, or take a model with a larger window.`;
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
  { request }: CompactionPlan,
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
  const what = `${manifest.models.fast ?? model.id} wrote no summary (${code}): ${message}`;
  log.append({ type: 'audit', who: 'runtime', what }, context.sessionOrigin());
}

/** The agent's `fast` model, else its own; a script has no summary to give. */
async function summariser({ manifest, model, edges }: SessionContext): Promise<Model | undefined> {
  if (manifest.models.fast !== undefined) return edges.prepared.fastModel();
  return model.id.startsWith('scripted:') ? undefined : model;
}
