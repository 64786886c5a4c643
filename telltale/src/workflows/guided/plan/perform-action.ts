import type { Json, JsonObject } from '../../../kernel/json.ts';
import { withTimeout } from '../../../targets/access/with-timeout.ts';
import type { LeafCall, ReadyLeaf } from '../../leaf.ts';
import { agentLeaf, workflowLeaf } from '../../steps/call-below.ts';
import { callTarget, isRepeatable } from '../../steps/call-target.ts';
import type { LeafContext } from '../../steps/leaf-edges.ts';
import type { Callable } from './callables.ts';

/** Told, before the call is made and behind a person's approval, whether it may be made again after a crash. */
export type Acting = (repeatable: boolean) => Promise<void>;

/** Calls one target as a step would, with parameters that are resolved: nothing in them is looked up once more. */
export async function performAction(
  { kind, target }: Callable,
  call: LeafCall,
  context: LeafContext,
  acting: Acting,
): Promise<Json> {
  const { input, signal } = call;
  const inTime = (work: (signal: AbortSignal) => Promise<Json>) =>
    withTimeout(signal, secondsOf(target.timeoutMs), `${kind} "${target.name}"`, context.clock, work);
  switch (kind) {
    case 'tool':
    case 'relic': {
      const noted = {
        ...target,
        async run(made: Parameters<typeof target.run>[0]) {
          await acting(isRepeatable(target, input));
          signal.throwIfAborted();
          return inTime((stop) => target.run({ ...made, signal: stop }));
        },
      };
      return callTarget(noted, call, context);
    }
    case 'agent':
      return below(agentLeaf(target.name, input, call, context));
    case 'workflow':
      return below(workflowLeaf(target.name, input, context));
  }

  async function below(leaf: ReadyLeaf): Promise<Json> {
    await acting(leaf.repeatable);
    signal.throwIfAborted();
    return inTime((stop) => leaf.run({ ...call, input: leaf.input, signal: stop }));
  }
}

const secondsOf = (ms: number | undefined): number | undefined =>
  ms === undefined || !Number.isFinite(ms) ? undefined : ms / 1000;

/** Refuses what the target does not take. Throws. */
export function mustTake({ target }: Callable, input: JsonObject): void {
  const wrong = target.check(input);
  if (wrong !== undefined) throw wrong;
}
