import type { Json, JsonObject } from '../../kernel/json.ts';
import type { Step, SwitchStep } from '../../manifest/schema/steps/step.ts';
import type { Composite } from './composite.ts';
import { itemsOnLog, itemsSet } from './items-of.ts';
import type { ListOutcome } from './outcome.ts';
import { runParallel, runRace } from './run-branches.ts';
import { runForeach } from './run-foreach.ts';
import { runLoop } from './run-loop.ts';
import { runTry } from './run-try.ts';
import { takeTest } from './take-test.ts';
import type { Place, Walk } from './walk.ts';

/** What a step with steps inside will do; `input` goes on the log with its start. */
export type Prepared =
  | { readonly kind: 'nothing'; readonly because: string }
  | {
      readonly kind: 'body';
      readonly input?: JsonObject;
      /** `inside` is what addresses inside of it begin with. */
      run(inside: string, place: Place): Promise<ListOutcome>;
    };

/** Decides what is to be known before it begins: the items of a `foreach`, the case of a `switch`. */
export async function prepare(walk: Walk, step: Composite, address: string, place: Place): Promise<Prepared> {
  switch (step.type) {
    case 'parallel':
      return body((inside, inner) => runParallel(walk, step, inside, inner));
    case 'race':
      return body((inside, inner) => runRace(walk, step, inside, inner));
    case 'foreach': {
      const items: readonly Json[] =
        itemsOnLog(walk.state.steps.get(address), step) ?? (await itemsSet(walk, step, address, place));
      const run = (inside: string, inner: Place) => runForeach(walk, step, items, inside, inner);
      return items === step.in ? body(run) : { ...body(run), input: { items } };
    }
    case 'loop':
      return body((inside, inner) => runLoop(walk, step, inside, inner));
    case 'switch': {
      const chosen = await chooseCase(walk, step, address, place);
      return chosen === undefined
        ? { kind: 'nothing', because: 'no case holds' }
        : body((inside, inner) => walk.list(chosen, { ...inner, prefix: `${inside}/` }));
    }
    case 'try':
      return body((inside, inner) => runTry(walk, step, inside, inner));
  }
}

const body = (run: Extract<Prepared, { readonly kind: 'body' }>['run']): Prepared & { kind: 'body' } => ({
  kind: 'body',
  run,
});

async function chooseCase(
  walk: Walk,
  step: SwitchStep,
  address: string,
  { locals }: Place,
): Promise<readonly Step[] | undefined> {
  for (const [index, each] of step.cases.entries())
    if (await takeTest(walk, `${address}:case ${index}`, each.if, locals)) return each.body;
  return step.default;
}
