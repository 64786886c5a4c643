import type { ModelEnd, ModelUsage } from '../model.ts';
import { modelFailed } from '../model-errors.ts';
import type { PartFinish, PartUsage } from './language-model.ts';

/** What the last part of a stream says of its end. Throws where it is no good one, `hint` where that gives no reason. Pure. */
export function readFinish(finish: PartFinish, usage: PartUsage, id: string, hint?: string): ModelEnd {
  const { unified, raw } = typeof finish === 'string' ? { unified: finish, raw: finish } : finish;
  const used = readUsage(usage);
  const end = (how: ModelEnd['finish']): ModelEnd =>
    used === undefined ? { finish: how } : { finish: how, usage: used };
  switch (unified) {
    case 'stop':
    case 'tool-calls':
      return end('stop');
    case 'length':
      return end('length');
    case 'content-filter':
      throw modelFailed('model_filtered', `${id}: the answer was stopped (${raw ?? unified}).`);
    case 'other':
      // Older providers say so when the stream ended without a word on why.
      if (raw === undefined) throw brokeOff(id, hint);
      return end('stop');
    default:
      throw brokeOff(id, hint);
  }
}

export const brokeOff = (id: string, hint?: string) =>
  modelFailed(
    'model_broke_off',
    `${id}: the stream ended before the answer was complete.`,
    hint === undefined ? {} : { hint },
  );

function readUsage(usage: PartUsage | undefined): ModelUsage | undefined {
  if (usage === undefined) return undefined;
  const { inputTokens, outputTokens } = usage;
  const isNested = typeof inputTokens === 'object' && typeof outputTokens === 'object';
  const input = isNested ? inputTokens.total : inputTokens;
  const output = isNested ? outputTokens.total : outputTokens;
  if (typeof input !== 'number' || typeof output !== 'number') return undefined;
  const cached = isNested
    ? inputTokens.cacheRead
    : 'cachedInputTokens' in usage
      ? usage.cachedInputTokens
      : undefined;
  const written = isNested ? inputTokens.cacheWrite : undefined;
  const reasoning = isNested
    ? outputTokens.reasoning
    : 'reasoningTokens' in usage
      ? usage.reasoningTokens
      : undefined;
  return {
    input,
    output,
    ...(cached === undefined ? {} : { cached }),
    ...(written === undefined ? {} : { written }),
    ...(reasoning === undefined || reasoning === 0 ? {} : { reasoning }),
  };
}
