import type { JsonObject } from '../../kernel/json.ts';
import type { Place } from '../report.ts';
import { LOOP_CONTROL } from './contracts.ts';
import { type Conversion, celOf, type LoopName } from './conversion.ts';
import { countStep, isArtifactLoop, type LoopInHand, type PlacedBody, setsDecision } from './loop-body.ts';
import type { Condition } from './shape-condition.ts';
import type { LoopStep } from './shape-step.ts';
import { allOf } from './to-cel.ts';

/** `while`, `until` and `for`: rounds that are counted, since WorkRail ends at the limit without a failure. */
export function countedRounds(
  { step, name, common, body, around, place, convert }: LoopInHand,
  c: Conversion,
): readonly JsonObject[] {
  const { loop } = step;
  const counted = loop.iterationVar ?? 'currentIteration';
  const counter = c.variables.counter(counted, 0);
  const names = new Map<string, LoopName>([[counted, { cel: counter, reference: `vars.${counter}` }]]);
  // Before a round the counter holds the rounds that are over; WorkRail's holds the one that may begin.
  const before = new Map<string, LoopName>([[counted, { cel: `(${counter} + 1)`, reference: '' }]]);
  const isDecided = isArtifactLoop(
    step,
    body.map((each) => each.step),
  );
  const decision = isDecided ? around.decision : undefined;
  const asked = (when: ReadonlyMap<string, LoopName>): string | undefined =>
    decision === undefined ? conditionOf(step, place, when, c) : `${decision} != "stop"`;
  noteLoop(step, decision, counter, place, c);
  const again = asked(names);
  let isDecidedAbove = false;
  const steps = withDecision(body, decision, place, c).flatMap(({ step: each, path }, index) => {
    const guard = index === 0 || (decision !== undefined && !isDecidedAbove) ? undefined : again;
    isDecidedAbove ||= setsDecision(each);
    return convert(each, { path, names, guard, decision, functions: around.functions });
  });
  const limit =
    typeof loop.count === 'number' ? Math.min(loop.count, loop.maxIterations) : loop.maxIterations;
  const times = typeof loop.count === 'string' ? `${counter} < ${c.variables.named(loop.count)}` : undefined;
  return [
    {
      name,
      type: 'loop',
      ...common,
      while: allOf([asked(before), times, `${counter} < ${limit}`]) ?? 'false',
      max: loop.maxIterations,
      body: [countStep(c, name, counter), ...steps],
    },
  ];
}

/** The loop's own test; `until` is asked before a round, too, as WorkRail does. */
function conditionOf(
  { loop }: LoopStep,
  place: Place,
  names: ReadonlyMap<string, LoopName>,
  c: Conversion,
): string | undefined {
  const cel = (condition: Condition) => celOf(condition, 'loop.condition', place, names, c);
  const condition = loop.conditionSource?.condition ?? loop.condition;
  if (condition === undefined || loop.type === 'for' || loop.type === 'forEach') return undefined;
  return loop.type === 'while' ? cel(condition) : `!(${cel(condition)})`;
}

/** Where no step of the body is asked for the decision that the loop goes by, the last one is. */
function withDecision(
  body: readonly PlacedBody[],
  decision: string | undefined,
  place: Place,
  { report }: Conversion,
): readonly PlacedBody[] {
  if (decision === undefined || body.some(({ step }) => setsDecision(step))) return body;
  const last = body.at(-1);
  if (last === undefined || last.step.type !== undefined || last.step.outputContract !== undefined) {
    report.note(
      place,
      'loop',
      'left',
      `no step of the body can be asked for ${decision}: it runs to its limit`,
    );
    return body;
  }
  report.note(
    place,
    'loop',
    'changed',
    `the last step of the body is asked for ${decision}, since no step is`,
  );
  return [
    ...body.slice(0, -1),
    { ...last, step: { ...last.step, outputContract: { contractRef: LOOP_CONTROL } } },
  ];
}

function noteLoop(
  { loop }: LoopStep,
  decision: string | undefined,
  counter: string,
  place: Place,
  { report }: Conversion,
): void {
  const limit = `ends after ${loop.maxIterations} rounds without a failure, counted in ${counter}`;
  if (decision !== undefined) {
    report.note(place, 'loop', 'changed', `loop while ${decision} is not stop; ${limit}`);
    if (loop.condition !== undefined)
      report.note(place, 'loop.condition', 'left', 'WorkRail goes by wr.loop_control where a loop has both');
    return;
  }
  switch (loop.type) {
    case 'while':
      report.note(place, 'loop', 'kept', `loop with while; ${limit}`);
      break;
    case 'until':
      report.note(
        place,
        'loop',
        'changed',
        `loop with while and the contrary, since WorkRail asks before the first round; ${limit}`,
      );
      break;
    case 'for':
      report.note(place, 'loop', 'changed', `loop with a counter; ${limit}`);
      break;
    case 'forEach':
      break;
  }
}
