import type { JsonObject } from '../../lib/json.ts';
import { allOf, defined, plainText } from '../values.ts';
import { type LoopScope, type LoopVariables, StepContext } from './context.ts';
import { LOOP_CONTROL } from './contracts.ts';
import { convertStep } from './convert-step.ts';
import type { LoopStep, PlacedBody } from './workflow-schema.ts';

const setsDecision = ({ step }: PlacedBody[number]): boolean =>
  step.type === undefined && step.outputContract?.contractRef === LOOP_CONTROL;

/** Whether `wr.loop_control` decides about another round, by WorkRail's rules. */
export function isDecidedByAgent({ loop }: LoopStep, body: PlacedBody): boolean {
  if (loop.type !== 'while' && loop.type !== 'until') return false;
  if (loop.conditionSource !== undefined) return loop.conditionSource.kind === 'artifact_contract';
  return body.some(setsDecision);
}

/** A loop that counts rounds, or one over the items of a list. */
export function convertLoop(step: LoopStep, body: PlacedBody, at: StepContext): JsonObject {
  const name = at.takeName('step');
  at.noteAll('kept', {
    title: 'description',
    body: typeof step.body === 'string' ? `the step ${step.body} is inside the loop` : 'body',
    functionDefinitions: 'in the prompts of the steps that refer to them',
    notesOptional: 'a loop has no notes',
  });
  at.take('type');
  at.left('requireConfirmation', 'WorkRail never asks at a loop: ask in a step of its body');
  const head = defined({ name, description: plainText(step.title), if: at.runCondition(step) });
  const loop = step.loop.type === 'forEach' ? forEach(step, body, at, name) : rounds(step, body, at, name);
  at.flow.origins.set(name, step.id);
  at.rest();
  return { ...head, ...loop };
}

const convertBody = (body: PlacedBody, at: StepContext, around: LoopScope): readonly JsonObject[] =>
  body.flatMap(({ step, path }) => convertStep(step, new StepContext(at.flow, step, path, around)));

/** A counter that begins at `from`, and the script that adds one to it in each round. */
function counterOf(wanted: string, from: number, at: StepContext, name: string) {
  const counter = at.flow.variables.added(wanted, { type: 'number', default: from, writers: ['workflow'] });
  const step: JsonObject = {
    name: at.flow.stepNames.take(`${name}-count`),
    type: 'script',
    script: `vars.${counter} + 1`,
    output_key: counter,
  };
  return { counter, step };
}

/** `while`, `until` and `for`. Rounds are counted, because WorkRail ends at the limit without a failure. */
function rounds(step: LoopStep, body: PlacedBody, at: StepContext, name: string): JsonObject {
  const { loop, functionDefinitions: functions = [] } = step;
  const { count, maxIterations, iterationVar = 'currentIteration' } = loop;
  const { counter, step: countStep } = counterOf(iterationVar, 0, at, name);
  const names: LoopVariables = new Map([[iterationVar, { cel: counter, reference: `vars.${counter}` }]]);
  // Before a round, the counter has the rounds that are over. The variable of WorkRail has the next round.
  const before: LoopVariables = new Map([[iterationVar, { cel: `(${counter} + 1)`, reference: '' }]]);
  const decision = isDecidedByAgent(step, body) ? at.around.decision : undefined;
  const condition = loop.type === 'for' ? undefined : (loop.conditionSource?.condition ?? loop.condition);
  const testWith = (variables: LoopVariables): string | undefined => {
    if (decision !== undefined) return `${decision} != "stop"`;
    if (condition === undefined) return undefined;
    const cel = at.cel(condition, 'loop.condition', variables);
    return loop.type === 'until' ? `!(${cel})` : cel;
  };
  const limited = `loop, which ends after ${maxIterations} rounds without a failure, counted in ${counter}`;
  at.changed('loop', decision === undefined ? limited : `${limited}, or when ${decision} is stop`);
  if (loop.type === 'until')
    at.changed('loop', 'the opposite "while": WorkRail tests before the first round');
  if (decision !== undefined && loop.condition !== undefined)
    at.note('loop.condition', 'left', 'WorkRail goes by wr.loop_control if a loop has both');
  const decided = decision === undefined ? body : withDecision(body, decision, at);
  // The test guards each step after the first; if the agent decides, each step after the decision.
  const isGuarded = (index: number) =>
    decision === undefined ? index > 0 : decided.slice(0, index).some(setsDecision);
  const guard = testWith(names);
  const steps = decided.flatMap((each, index) =>
    convertBody([each], at, { names, guard: isGuarded(index) ? guard : undefined, decision, functions }),
  );
  const limit = typeof count === 'number' ? Math.min(count, maxIterations) : maxIterations;
  const times = typeof count === 'string' ? `${counter} < ${at.flow.variables.named(count)}` : undefined;
  return {
    type: 'loop',
    while: allOf([testWith(before), times, `${counter} < ${limit}`]) ?? 'false',
    max: maxIterations,
    body: [countStep, ...steps],
  };
}

/** If no step of the body makes the decision, its last step does. */
function withDecision(body: PlacedBody, decision: string, at: StepContext): PlacedBody {
  const last = body.at(-1);
  if (last === undefined || body.some(setsDecision)) return body;
  if (last.step.type !== undefined || last.step.outputContract !== undefined) {
    at.left('loop', `no step of the body can be asked for ${decision}: it runs to its limit`);
    return body;
  }
  at.changed('loop', `the last step of the body is asked for ${decision}, since no step is`);
  const asked = { ...last.step, outputContract: { contractRef: LOOP_CONTROL } };
  return [...body.slice(0, -1), { ...last, step: asked }];
}

/** `forEach`: one item after the other. */
function forEach(step: LoopStep, body: PlacedBody, at: StepContext, name: string): JsonObject {
  const { loop, functionDefinitions: functions = [] } = step;
  const { items = 'items', itemVar = 'currentItem', maxIterations } = loop;
  const list = at.flow.variables.named(items);
  const as = itemVar.replace(/^(?:agent|steps|vars|run|trigger|input|metadata)$/, '$&_');
  const names = new Map([[itemVar, { cel: as, reference: as }]]);
  const text = JSON.stringify(body.map((each) => each.step));
  const wanted = [
    [loop.indexVar ?? 'currentIndex', -1] as const,
    [loop.iterationVar ?? 'currentIteration', 0] as const,
  ];
  const counts = wanted
    .filter(([counted]) => new RegExp(`\\b${counted}\\b`).test(text))
    .map(([counted, from]) => {
      const { counter, step: countStep } = counterOf(counted, from, at, name);
      names.set(counted, { cel: counter, reference: `vars.${counter}` });
      return countStep;
    });
  at.kept('loop', `foreach over ${list} as ${as}, one after the other, at most ${maxIterations}`);
  const steps = convertBody(body, at, { names, functions });
  const head = { type: 'foreach', in: `\${vars.${list}}`, max: maxIterations, as, max_parallel: 1 };
  return { ...head, body: [...counts, ...steps] };
}
