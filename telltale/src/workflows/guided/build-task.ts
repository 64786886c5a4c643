import type { JsonObject } from '../../kernel/json.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { LeafCall } from '../leaf.ts';
import type { StepOf } from '../steps/leaf-edges.ts';
import type { Task } from './task.ts';

/** What is given to who works on it. */
export function buildTask(
  step: StepOf<'task'>,
  { idempotencyKey, attempt, input }: Pick<LeafCall, 'idempotencyKey' | 'attempt' | 'input'>,
  workflow: Pick<WorkflowManifest, 'context_variables'>,
): Task {
  const writable = writableVariables(workflow);
  const required = Object.entries(step.requires).map(([name, schema]) => [
    name,
    { ...writable[name], ...(schema as JsonObject) },
  ]);
  const accepted = Object.entries(writable).filter(([name]) => !Object.hasOwn(step.requires, name));
  return {
    key: `${idempotencyKey}#${attempt}`,
    prompt: String(input.prompt),
    requires: Object.fromEntries(required),
    accepts: Object.fromEntries(accepted),
    evidence: step.evidence,
    ...(step.max_turns === undefined ? {} : { maxTurns: step.max_turns }),
    judgesTurns: step.verify?.when === 'turn',
    ...(step.verify === undefined && !step.confirm ? {} : { checked: true as const }),
  };
}

/** The workflow's own variables that a model may write, each with its schema. */
function writableVariables({
  context_variables: { runtime },
}: Pick<WorkflowManifest, 'context_variables'>): Readonly<Record<string, JsonObject>> {
  const writable = runtime.filter(({ writers }) => writers.includes('model'));
  return Object.fromEntries(
    writable.map(({ name, type, description }) => [
      name,
      {
        ...(type === 'any' ? {} : { type }),
        ...(description === undefined ? {} : { description }),
      },
    ]),
  );
}
