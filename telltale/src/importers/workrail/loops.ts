import type { JsonObject } from '../../lib/json.ts';
import { type Around, type PlacedBody, Spot } from './conversion.ts';
import { allOf, plainText } from './expressions.ts';
import type { BodyStep, LoopStep, ShapeCondition } from './shape.ts';
import { convertBody } from './steps.ts';
import { LOOP_CONTROL } from './texts.ts';

const setsDecision = (step: BodyStep): boolean =>
  step.type === undefined && step.outputContract?.contractRef === LOOP_CONTROL;

/** Whether a loop goes by `wr.loop_control`, as WorkRail decides it. */
export const isArtifactLoop = ({ loop }: LoopStep, body: readonly PlacedBody[]): boolean => {
  if (loop.type !== 'while' && loop.type !== 'until') return false;
  if (loop.conditionSource !== undefined) return loop.conditionSource.kind === 'artifact_contract';
  return body.some(({ step }) => setsDecision(step));
};

/** A loop: rounds that are counted, or one for each item. */
export function convertLoop(step: LoopStep, body: readonly PlacedBody[], at: Spot): readonly JsonObject[] {
  const name = at.takeName(step.id, 'step');
  at.kept('title', 'description');
  const isElsewhere = typeof step.body === 'string';
  at.note(
    'body',
    isElsewhere ? 'changed' : 'kept',
    isElsewhere ? `the step ${step.body} stands inside` : 'body',
  );
  if (step.requireConfirmation === false) at.kept('requireConfirmation', 'nobody is asked');
  else if (step.requireConfirmation !== undefined)
    at.left('requireConfirmation', 'WorkRail never asks at a loop either: ask in a step of its body');
  at.keptKeys(step, {
    functionDefinitions: 'in the prompts of the steps that refer to them',
    notesOptional: 'a loop has no notes',
  });
  const test = at.runCondition(step);
  const common = { name, description: plainText(step.title), ...(test === undefined ? {} : { if: test }) };
  const made =
    step.loop.type === 'forEach' ? forEachItem(step, body, at, name) : rounds(step, body, at, name);
  const loop = { ...common, ...made };
  at.c.origins.set(loop, step.id);
  return [loop];
}

/** Counts a round. */
const countStep = ({ c }: Spot, name: string, counter: string): JsonObject => ({
  name: c.stepNames.take(`${name}-count`),
  type: 'script',
  script: `vars.${counter} + 1`,
  output_key: counter,
});

/** `while`, `until` and `for`: rounds that are counted, since WorkRail ends at the limit without a failure. */
function rounds(step: LoopStep, body: readonly PlacedBody[], at: Spot, name: string): JsonObject {
  const { c, around } = at;
  const { loop } = step;
  const counted = loop.iterationVar ?? 'currentIteration';
  const counter = c.variables.counter(counted, 0);
  const names: Around['names'] = new Map([[counted, { cel: counter, reference: `vars.${counter}` }]]);
  // Before a round the counter holds the rounds that are over; WorkRail's holds the one that may begin.
  const before: Around['names'] = new Map([[counted, { cel: `(${counter} + 1)`, reference: '' }]]);
  const decision = isArtifactLoop(step, body) ? around.decision : undefined;
  const condition = loop.type === 'for' ? undefined : (loop.conditionSource?.condition ?? loop.condition);
  // `until` is asked before a round, too, as WorkRail does.
  const written = (test: ShapeCondition, when: Around['names']) => {
    const cel = at.cel(test, 'loop.condition', when);
    return loop.type === 'until' ? `!(${cel})` : cel;
  };
  const asked = (when: Around['names']): string | undefined => {
    if (decision !== undefined) return `${decision} != "stop"`;
    return condition === undefined ? undefined : written(condition, when);
  };
  noteRounds(step, decision, counter, at);
  const again = asked(names);
  const functions = step.functionDefinitions ?? [];
  let isDecidedAbove = false;
  const steps = withDecision(body, decision, at).flatMap(({ step: each, path }, index) => {
    const guard = index === 0 || (decision !== undefined && !isDecidedAbove) ? undefined : again;
    isDecidedAbove ||= setsDecision(each);
    return convertBody(each, new Spot(c, each.id, path, { names, guard, decision, functions }));
  });
  const { count, maxIterations } = loop;
  const limit = typeof count === 'number' ? Math.min(count, maxIterations) : maxIterations;
  const times = typeof count === 'string' ? `${counter} < ${c.variables.named(count)}` : undefined;
  return {
    type: 'loop',
    while: allOf([asked(before), times, `${counter} < ${limit}`]) ?? 'false',
    max: maxIterations,
    body: [countStep(at, name, counter), ...steps],
  };
}

/** Where no step of the body is asked for the decision that the loop goes by, the last one is. */
function withDecision(
  body: readonly PlacedBody[],
  decision: string | undefined,
  at: Spot,
): readonly PlacedBody[] {
  const last = body.at(-1);
  if (decision === undefined || last === undefined || body.some(({ step }) => setsDecision(step)))
    return body;
  if (last.step.type !== undefined || last.step.outputContract !== undefined) {
    at.left('loop', `no step of the body can be asked for ${decision}: it runs to its limit`);
    return body;
  }
  at.changed('loop', `the last step of the body is asked for ${decision}, since no step is`);
  const asked = { ...last.step, outputContract: { contractRef: LOOP_CONTROL } };
  return [...body.slice(0, -1), { ...last, step: asked }];
}

function noteRounds({ loop }: LoopStep, decision: string | undefined, counter: string, at: Spot): void {
  const limit = `ends after ${loop.maxIterations} rounds without a failure, counted in ${counter}`;
  if (decision !== undefined) {
    at.changed('loop', `loop while ${decision} is not stop; ${limit}`);
    if (loop.condition !== undefined)
      at.left('loop.condition', 'WorkRail goes by wr.loop_control where a loop has both');
  } else if (loop.type === 'while') at.kept('loop', `loop with while; ${limit}`);
  else if (loop.type === 'for') at.changed('loop', `loop with a counter; ${limit}`);
  else {
    const why = 'loop with while and the contrary, since WorkRail asks before the first round';
    at.changed('loop', `${why}; ${limit}`);
  }
}

/** `forEach`: as many items as rounds are allowed, one after the other. */
function forEachItem(step: LoopStep, body: readonly PlacedBody[], at: Spot, name: string): JsonObject {
  const { c } = at;
  const { loop } = step;
  const items = c.variables.named(loop.items ?? 'items');
  const item = loop.itemVar ?? 'currentItem';
  const as = item.replace(/^(?:agent|steps|vars|run|trigger|input|metadata)$/, '$&_');
  const texts = JSON.stringify(body.map((each) => each.step));
  const names = new Map([[item, { cel: as, reference: as }]]);
  const counts: JsonObject[] = [];
  const counters = [
    [loop.indexVar ?? 'currentIndex', -1],
    [loop.iterationVar ?? 'currentIteration', 0],
  ] as const;
  for (const [counted, from] of counters) {
    if (!new RegExp(`\\b${counted}\\b`).test(texts)) continue;
    const counter = c.variables.counter(counted, from);
    names.set(counted, { cel: counter, reference: `vars.${counter}` });
    counts.push(countStep(at, name, counter));
  }
  const most = `one after the other, the first ${loop.maxIterations} at the most`;
  at.kept('loop', `foreach over ${items} as ${as}, ${most}`);
  const around = { names, functions: step.functionDefinitions ?? [] };
  const steps = body.flatMap((each) => convertBody(each.step, new Spot(c, each.step.id, each.path, around)));
  return {
    type: 'foreach',
    in: `\${vars.${items}}`,
    max: loop.maxIterations,
    as,
    max_parallel: 1,
    body: [...counts, ...steps],
  };
}
