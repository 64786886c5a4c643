import { callTarget, checkedTarget, isRepeatable } from './call-target.ts';
import type { PrepareLeaf } from './leaf-edges.ts';
import { resolveMap } from './resolve-in-step.ts';

/** Calls a tool or a relic of the agent. */
export const prepareTool: PrepareLeaf<'tool' | 'relic'> = async (step, place, context) => {
  const input = await resolveMap(step.parameters, 'parameters', place, context);
  const target = checkedTarget(step.type, step.target, input, context);
  return {
    input,
    repeatable: isRepeatable(target, input),
    ...(target.timeoutMs === undefined ? {} : { timeoutMs: target.timeoutMs }),
    run: (call) => callTarget(target, call, context),
  };
};
