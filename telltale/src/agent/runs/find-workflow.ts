import type { StandardSchemaV1 } from '@standard-schema/spec';
import { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { frozenCopy } from '../../manifest/schema/plain-values.ts';
import { inputSchemaOf } from '../define/agent-code.ts';
import type { DefinedWorkflow } from '../define/definitions.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { type LoadedWorkflow, workflowsOf } from './run-types.ts';

/** Finds a workflow of an agent: by name, by its definition in code, or the only one. */
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
 * The manifest without parts that may hold secrets of the environment: imports (MCP servers), hooks
 * (programs) and notifications (webhooks).
 */
export const shownManifest = ({
  import: _,
  hooks: __,
  notifications: ___,
  ...manifest
}: AgentManifest): JsonObject => frozenCopy(JSON.parse(JSON.stringify(manifest)) as JsonObject);
