import type { JsonObject } from '../../kernel/json.ts';
import { checkedTarget, isRepeatable } from './call-target.ts';
import type { PrepareLeaf } from './leaf-edges.ts';
import { resolveMap } from './resolve-in-step.ts';
import { targetLeaf } from './target-leaf.ts';

/** Calls a tool or a relic of the agent. */
export const prepareTool: PrepareLeaf<'tool' | 'relic'> = (step, place, context) => {
  const prepared = (given: JsonObject) => {
    const target = checkedTarget(step.type, step.target, given, context);
    const input = target.inFull?.(given) ?? given;
    return targetLeaf(target, input, isRepeatable(target, input), place, context);
  };
  const input = resolveMap(step.parameters, 'parameters', place, context);
  return input instanceof Promise ? input.then(prepared) : prepared(input);
};
