import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { compileCheck } from '../../tools/check-parameters.ts';
import { validateNow } from '../../tools/code/code-tool.ts';
import { plainJson } from '../../tools/output/output.ts';
import { inputSchemaOf } from '../define/workflow-code.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { badInput } from './run-errors.ts';

/** What a program's schema may make of an input. */
const MAX_INPUT_BYTES = 16 * 1024 * 1024;
/** The input of a run as its log has it: what the workflow's schema makes of what was given. Throws `bad_input`. */
export function readInput(
  agent: LoadedAgent<unknown>,
  workflow: WorkflowManifest,
  input: JsonObject,
): JsonObject {
  const { name } = workflow;
  const schema = inputSchemaOf(agent, name);
  if (schema === undefined) {
    checkInput(workflow, input);
    return input;
  }
  const judged = validateNow(schema, input, () => inputWaits(name));
  if (!judged.ok) throw badInput(name, notTaken(judged.problem));
  const made = jsonOf(name, judged.value);
  if (!isMap(made)) throw badInput(name, notTaken('Its schema makes no object of it.'));
  return made as JsonObject;
}
function checkInput(workflow: WorkflowManifest, input: JsonObject): void {
  if (workflow.input === undefined) return;
  const problem = compileCheck(workflow.input as JsonObject, `workflow "${workflow.name}"`)(input);
  if (problem !== undefined) throw badInput(workflow.name, problem);
}
function jsonOf(workflow: string, value: unknown): Json {
  try {
    return plainJson(value, `the schema of workflow "${workflow}"`, MAX_INPUT_BYTES);
  } catch (thrown) {
    throw badInput(workflow, toRuntimeError(thrown));
  }
}
const notTaken = (problem: string) =>
  new RuntimeError('bad_parameters', problem, { hint: 'Give an input that its schema takes.' });
const inputWaits = (workflow: string) =>
  new RuntimeError(
    'async_schema',
    `The schema of the input of the workflow "${workflow}" answers with a promise.`,
    {
      hint: "Use a schema without asynchronous checks there; those of a tool's parameters may have them.",
    },
  );
