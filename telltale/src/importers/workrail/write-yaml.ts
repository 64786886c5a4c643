import type { Json, JsonObject } from '../../kernel/json.ts';
import { yamlOf } from '../made.ts';
import type { Entry } from '../report.ts';
import type { Converted } from './convert-workflow.ts';

/** The workflow as YAML, with what was changed or left beside the steps that it is about. */
export function workflowYaml({ workflow, entries, origins, about }: Converted, file: string): string {
  const beside = [...stepsWithPaths(workflow.steps as readonly JsonObject[], ['steps'])].map(
    ([path, step]) => {
      const id = origins.get(step);
      return [path, id === undefined ? [] : remarks(entries, id)] as const;
    },
  );
  const head = [...about, `Imported from ${file}, a workflow of WorkRail.`, ...remarks(entries, null)];
  return yamlOf(workflow, head, beside);
}

const remarks = (entries: readonly Entry[], step: string | null): readonly string[] =>
  entries
    .filter((entry) => entry.step === step && entry.outcome !== 'kept')
    .map(({ construct, outcome, how }) => `${construct} (${outcome}): ${how}`);

function* stepsWithPaths(
  steps: readonly JsonObject[],
  path: readonly (string | number)[],
): Generator<readonly [path: readonly (string | number)[], step: JsonObject]> {
  for (const [index, step] of steps.entries()) {
    yield [[...path, index], step];
    const body = step.body as Json | undefined;
    if (Array.isArray(body)) yield* stepsWithPaths(body as readonly JsonObject[], [...path, index, 'body']);
  }
}
