import { toRuntimeError } from '../../lib/errors.ts';
import type { SimpleStep } from '../../manifest/schema/steps/step.ts';
import type {
  HooksOf,
  LeafCall,
  Leaves,
  ReadyLeaf,
  StepCall,
  StepHooks,
} from '../../workflows/step-executor.ts';

/** Types of steps that call something: the others act on the run and its session only. */
const CALLS: ReadonlySet<SimpleStep['type']> = new Set([
  'tool',
  'relic',
  'agent',
  'llm',
  'workflow',
  'script',
]);

/** Steps with the hooks of the agent, the workflow and the step around their calls. */
export function hookedLeaves(leaves: Leaves, hooksOf: HooksOf, signal: AbortSignal): Leaves {
  return {
    compensate: leaves.compensate,
    async ready(place) {
      const { step, address } = place;
      const ready = await leaves.ready(place);
      const hooks = CALLS.has(step.type) ? hooksOf(step) : undefined;
      if (hooks === undefined) return ready;
      const call = { id: address, kind: step.type, name: targetOf(step) };
      const input = await hooks.before({ ...call, parameters: ready.input, signal });
      return { ...ready, input, run: (made) => around(hooks, ready, call, made) };
    },
  };
}

async function around(
  hooks: StepHooks,
  ready: ReadyLeaf,
  named: Pick<StepCall, 'id' | 'kind' | 'name'>,
  call: LeafCall,
): Promise<Awaited<ReturnType<ReadyLeaf['run']>>> {
  const asked: StepCall = { ...named, parameters: call.input, cause: call.cause, signal: call.signal };
  try {
    return await hooks.after(asked, await ready.run(call));
  } catch (thrown) {
    const isLast = call.attempt > (call.step.retry?.max ?? 0);
    if (isLast && !call.signal.aborted) await hooks.failed(asked, toRuntimeError(thrown).toJSON());
    throw thrown;
  }
}

const targetOf = (step: SimpleStep): string =>
  'target' in step && step.target !== undefined ? step.target : step.name;
