import type { JsonObject } from '../../../kernel/json.ts';
import { LOOP_CONTROL } from './contracts.ts';
import { type Around, type Conversion, celOf, type LoopName } from './conversion.ts';
import { runCondition } from './convert-task.ts';
import { nameOf } from './names.ts';
import type { Place } from './report.ts';
import type { Condition } from './shape-condition.ts';
import type { BodyStep, LoopStep } from './shape-step.ts';
import { allOf } from './to-cel.ts';
import { plainText } from './to-template.ts';

/** A step of a body, and where it stands. */
export interface PlacedBody {
  readonly step: BodyStep;
  readonly path: Around['path'];
}

/** What converts the steps of a body. */
type Convert = (step: BodyStep, around: Around) => readonly JsonObject[];

/** Whether a loop goes by `wr.loop_control`, as WorkRail decides it. */
export const isArtifactLoop = ({ loop }: LoopStep, body: readonly BodyStep[]): boolean => {
  if (loop.type !== 'while' && loop.type !== 'until') return false;
  if (loop.conditionSource !== undefined) return loop.conditionSource.kind === 'artifact_contract';
  return body.some(setsDecision);
};

export const setsDecision = (step: BodyStep): boolean =>
  step.type === undefined && step.outputContract?.contractRef === LOOP_CONTROL;

export function convertLoop(
  step: LoopStep,
  body: readonly PlacedBody[],
  around: Around,
  c: Conversion,
  convert: Convert,
): readonly JsonObject[] {
  const place: Place = { step: step.id, path: around.path };
  const name = c.stepNames.take(nameOf(step.id));
  const { report } = c;
  report.note(place, 'id', name === step.id ? 'kept' : 'changed', `the step ${name}`);
  report.note(place, 'title', 'kept', 'description');
  report.note(
    place,
    'body',
    typeof step.body === 'string' ? 'changed' : 'kept',
    typeof step.body === 'string' ? `the step ${step.body} stands inside` : 'body',
  );
  if (step.requireConfirmation === false)
    report.note(place, 'requireConfirmation', 'kept', 'nobody is asked');
  else if (step.requireConfirmation !== undefined)
    report.note(
      place,
      'requireConfirmation',
      'left',
      'WorkRail never asks at a loop either: ask in a step of its body',
    );
  if (step.functionDefinitions !== undefined)
    report.note(place, 'functionDefinitions', 'kept', 'in the prompts of the steps that refer to them');
  if (step.notesOptional !== undefined) report.note(place, 'notesOptional', 'left', 'a loop has no notes');
  const test = runCondition(step, place, around, c);
  const common = { description: plainText(step.title), ...(test === undefined ? {} : { if: test }) };
  const inside = { ...around, functions: step.functionDefinitions ?? [] };
  const made =
    step.loop.type === 'forEach'
      ? forEach(step, name, common, body, inside, place, c, convert)
      : rounds(step, name, common, body, inside, place, c, convert);
  const loop = made.find((each) => each.name === name);
  if (loop !== undefined) c.origins.set(loop, step.id);
  return made;
}

/** `while`, `until` and `for`: rounds that are counted, since WorkRail ends at the limit without a failure. */
function rounds(
  step: LoopStep,
  name: string,
  common: JsonObject,
  body: readonly PlacedBody[],
  around: Around,
  place: Place,
  c: Conversion,
  convert: Convert,
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

const countStep = (c: Conversion, name: string, counter: string): JsonObject => ({
  name: c.stepNames.take(`${name}-count`),
  type: 'script',
  script: `vars.${counter} + 1`,
  output_key: counter,
});

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

/** `forEach`: as many items as rounds are allowed, one after the other. */
function forEach(
  { loop }: LoopStep,
  name: string,
  common: JsonObject,
  body: readonly PlacedBody[],
  around: Around,
  place: Place,
  c: Conversion,
  convert: Convert,
): readonly JsonObject[] {
  const items = c.variables.named(loop.items ?? 'items');
  const written = loop.itemVar ?? 'currentItem';
  const as = written.replace(/^(?:agent|steps|vars|run|trigger|input|metadata)$/, '$&_');
  const texts = JSON.stringify(body.map(({ step }) => step));
  const names = new Map<string, LoopName>([[written, { cel: as, reference: as }]]);
  const counts: JsonObject[] = [];
  for (const [counted, from] of [
    [loop.indexVar ?? 'currentIndex', -1],
    [loop.iterationVar ?? 'currentIteration', 0],
  ] as const) {
    if (!new RegExp(`\\b${counted}\\b`).test(texts)) continue;
    const counter = c.variables.counter(counted, from);
    names.set(counted, { cel: counter, reference: `vars.${counter}` });
    counts.push(countStep(c, name, counter));
  }
  c.report.note(
    place,
    'loop',
    'kept',
    `foreach over ${items} as ${as}, one after the other, the first ${loop.maxIterations} at the most`,
  );
  const list = c.stepNames.take(`${name}-list`);
  const shown = JSON.stringify(`${items} must be a list for "${name}".`);
  return [
    {
      name: list,
      type: 'script',
      ...(common.if === undefined ? {} : { if: common.if }),
      script: `if (!Array.isArray(vars.${items})) throw new TypeError(${shown});\nvars.${items}.slice(0, ${loop.maxIterations})`,
    },
    {
      name,
      type: 'foreach',
      ...common,
      in: `\${steps.${list}.output}`,
      as,
      max_parallel: 1,
      body: [
        ...counts,
        ...body.flatMap(({ step, path }) => convert(step, { path, names, functions: around.functions })),
      ],
    },
  ];
}
