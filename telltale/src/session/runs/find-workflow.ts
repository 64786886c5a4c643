import type { StandardSchemaV1 } from '@standard-schema/spec';
import { RuntimeError, toRuntimeError } from '../../kernel/errors.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import type { AgentManifest, WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { frozenCopy, isMap } from '../../manifest/schema/values.ts';
import { compileCheck } from '../../targets/check-parameters.ts';
import { validate } from '../../targets/code/code-tool.ts';
import { plainJson } from '../../targets/output/output.ts';
import type { DefinedWorkflow } from '../define/definitions.ts';
import { inputSchemaOf } from '../define/workflow-code.ts';
import { type LoadAgentOptions, loadAgent } from '../load-agent.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { badInput } from './run-errors.ts';
import { type LoadedWorkflow, workflowsOf } from './run-types.ts';

export interface LoadWorkflowOptions extends Omit<LoadAgentOptions, 'name'> {
  /** Which workflow, where the agent has several. */
  readonly workflow?: string;
  /** Which agent, where the file holds several. */
  readonly agent?: string;
}

/** Reads an agent's manifest, and finds one of its workflows. */
export async function loadWorkflow(
  path: string,
  { workflow, agent, ...options }: LoadWorkflowOptions = {},
): Promise<LoadedWorkflow> {
  const loaded = await loadAgent(path, { ...options, ...(agent === undefined ? {} : { name: agent }) });
  return findWorkflow(loaded, workflow);
}

/** One of an agent's workflows: the one of that name, the one that a program made, or the only one. */
export function findWorkflow<Input = JsonObject>(
  agent: LoadedAgent<unknown>,
  workflow?: string | DefinedWorkflow<Input>,
): LoadedWorkflow<Input> {
  const known = workflowsOf(agent);
  const only = known.size === 1 ? [...known.keys()][0] : undefined;
  const wanted = (typeof workflow === 'object' ? workflow.name : workflow) ?? only;
  if (wanted === undefined) throw whichWorkflow(agent, [...known.keys()]);
  const manifest = known.get(wanted);
  if (manifest === undefined) throw workflowUnknown(agent, wanted, [...known.keys()]);
  const input = inputSchemaOf(agent, wanted) as StandardSchemaV1<Input> | undefined;
  return { manifest, agent, ...(input === undefined ? {} : { input }) };
}

const whichWorkflow = ({ manifest: { name }, path }: LoadedAgent<unknown>, known: readonly string[]) =>
  new RuntimeError(
    'no_workflow',
    known.length === 0
      ? `The agent "${name}" (${path}) has no workflow.`
      : `The agent "${name}" (${path}) has ${known.length} workflows: ${known.join(', ')}.`,
    {
      hint:
        known.length === 0
          ? 'Import one: "import: { workflows: [./workflows/*.yml] }"; in code, "workflows: [defineWorkflow({ … })]".'
          : `Say which: telltale workflow run ${path} ${known[0]}; in code, findWorkflow(agent, "${known[0]}")`,
    },
  );

export const workflowUnknown = (
  { manifest: { name }, path }: LoadedAgent<unknown>,
  asked: string,
  known: readonly string[],
) =>
  new RuntimeError('no_workflow', `The agent "${name}" (${path}) has no workflow named "${asked}".`, {
    hint: suggest(asked, known, 'Its workflows'),
  });

/**
 * Without what may hold secrets of the environment: imports name the variables of MCP servers, hooks those of programs,
 * notifications the secrets of webhooks.
 */
export const shownManifest = ({
  import: _,
  hooks: __,
  notifications: ___,
  ...manifest
}: AgentManifest): JsonObject => frozenCopy(JSON.parse(JSON.stringify(manifest)) as JsonObject);

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
  const judged = validate(schema, input);
  if (judged instanceof Promise) {
    judged.catch(() => undefined);
    throw inputWaits(name);
  }
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
