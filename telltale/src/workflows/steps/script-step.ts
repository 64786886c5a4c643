import type { Json, JsonObject } from '../../kernel/json.ts';
import { DEFAULT_OUTPUT_BYTES } from '../../targets/output/output-limits.ts';
import { DEFAULT_SCRIPT_MEMORY, DEFAULT_SCRIPT_MS } from '../../targets/sandbox/sandbox.ts';
import type { LeafPlace, ReadyLeaf } from '../leaf.ts';
import { prepareCommand } from './command-step.ts';
import type { LeafContext, PrepareLeaf, StepOf } from './leaf-edges.ts';
import { resolveMap, stepWhat } from './resolve-in-step.ts';

export const prepareScript: PrepareLeaf<'script'> = (step, place, context) =>
  'command' in step ? prepareCommand(step, place, context) : prepareJavaScript(step, place, context);

const ROOTS = ['agent', 'trigger', 'steps', 'vars', 'input', 'run', 'metadata'];

/** JavaScript in the sandbox. It sees `parameters`, and the names of the step's scope that it holds, frozen. */
async function prepareJavaScript(
  step: Extract<StepOf<'script'>, { readonly script: string }>,
  place: LeafPlace,
  { scope, world, journal, clock }: LeafContext,
): Promise<ReadyLeaf> {
  const input = await resolveMap(step.parameters, 'parameters', place, { scope });
  const { script } = step;
  const limits = {
    timeMs: step.timeout?.ms ?? DEFAULT_SCRIPT_MS,
    memoryBytes: DEFAULT_SCRIPT_MEMORY,
    outputBytes: DEFAULT_OUTPUT_BYTES,
  };
  // What a script does not hold it cannot see, and passing all of it on would take longer than most scripts.
  const names = [...ROOTS, ...Object.keys(place.locals)].filter((name) => holdsName(script, name));
  return {
    input,
    repeatable: true,
    async run({ input: parameters, signal, idempotencyKey }) {
      const all = (await scope.forTest(names, place.locals, place.address)) as JsonObject;
      const seen = Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
      const json = await world.sandbox.run({
        what: stepWhat(place),
        source: script,
        globals: { ...seen, parameters },
        frozen: Object.keys(seen),
        limits,
        signal,
        // The same in every try, so that what it gives follows from the log.
        now: journal.state.steps.get(place.address)?.startedAt ?? clock.now(),
        seed: seedOf(idempotencyKey),
      });
      return JSON.parse(json) as Json;
    },
  };
}

/** Names are identifiers: none has a character that means something in a pattern. */
const holdsName = (script: string, name: string) => new RegExp(`\\b${name}\\b`).test(script);

/** FNV-1a: the same randomness in every try of a step. */
function seedOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
