import type { Usage } from '../events/event.ts';
import { shownTokens } from '../feeds/limits.ts';
import { estimateTokens } from '../kernel/estimate-tokens.ts';
import { toRuntimeError } from '../kernel/runtime-error.ts';
import type { Model } from '../models/model.ts';
import { type CompactionPlan, planCompaction, whenToCompact } from '../prompt/compaction.ts';
import type { Conversation } from '../prompt/conversation.ts';
import type { SessionContext } from './context.ts';
import { costWith } from './cost.ts';
import { streamModel } from './stream-model.ts';

/** Tokens that one block of results comes to at most, about. */
const MAX_BLOCK_TOKENS = 18_000;

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
  const promptTokens =
    (conversation.prompt()?.tokens ?? 0) + said + Math.min(MAX_BLOCK_TOKENS, contextWindow / 8);
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
    parts: context.parts,
    contextWindow,
  });
  if (plan === undefined) return;
  const written = await writeSummary(context, plan);
  if (context.stop.reason !== undefined) return;
  const feeds = state.feeds.size === 0 ? {} : { feed_tokens: shownTokens(contextWindow) };
  log.append(
    { type: 'prompt.compacted', through: plan.through, ...written, ...feeds },
    context.sessionOrigin(),
  );
  conversation.rebuild(state);
}

interface Written {
  readonly summary: string;
  readonly usage?: Usage;
  readonly cost_usd?: number;
}

async function writeSummary(
  context: SessionContext,
  { request, plainSummary }: CompactionPlan,
): Promise<Written> {
  const { log, stop, clock, manifest } = context;
  const abort = new AbortController();
  const forget = stop.onStop(() => abort.abort());
  let summary = '';
  try {
    const model = await summariser(context);
    if (model === undefined) return { summary: plainSummary };
    const { usage } = await streamModel(
      model,
      { ...request, turn: 1, signal: abort.signal },
      {
        text(delta) {
          summary += delta;
          if (summary.length > MAX_SUMMARY_CHARS) abort.abort();
        },
        reasoning: () => undefined,
      },
      clock,
    );
    if (/\S/.test(summary))
      return { summary, ...(usage === undefined ? {} : { usage, cost_usd: costWith(model, usage) }) };
  } catch (thrown) {
    if (summary.length > MAX_SUMMARY_CHARS) return { summary: summary.slice(0, MAX_SUMMARY_CHARS) };
    const { code, message } = toRuntimeError(thrown);
    log.append(
      {
        type: 'audit',
        who: 'runtime',
        what: `${manifest.models.fast ?? context.model.id} wrote no summary (${code}): ${message}`,
      },
      context.sessionOrigin(),
    );
  } finally {
    forget();
  }
  return { summary: plainSummary };
}

/** The agent's `fast` model, else its own; a script has no summary to give. */
async function summariser({ manifest, model, fastModel }: SessionContext): Promise<Model | undefined> {
  if (manifest.models.fast !== undefined) return fastModel();
  return model.id.startsWith('scripted:') ? undefined : model;
}
