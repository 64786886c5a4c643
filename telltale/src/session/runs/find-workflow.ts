import type { StandardSchemaV1 } from '@standard-schema/spec';
import { RuntimeError } from '../../kernel/errors.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import type { DefinedWorkflow } from '../define/definitions.ts';
import { inputSchemaOf } from '../define/workflow-code.ts';
import type { LoadAgentOptions } from '../load-agent.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
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
  // `index.ts` exports `findWorkflow`: a program that never loads an agent must not load all that reads manifests.
  const { loadAgent } = await import('../load-agent.ts');
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
