import type { JsonObject } from '../../lib/json.ts';
import { isModelRef } from '../../manifest/schema/model-ref.ts';
import type { ImportedFile, Importer, ImportOptions, MadeFile, SourceFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { createNames, type Names, nameOf } from '../names.ts';
import { remarksOf } from '../report.ts';
import { filled } from '../values.ts';
import { WorkflowContext } from './context.ts';
import { convertWorkflow } from './convert-workflow.ts';
import { readWorkflow, type WorkrailFile } from './read-workflow.ts';
import { findRoutines } from './routines.ts';

export const workrail: Importer = {
  pattern: '**/*.json',
  detect: ({ source }) => /"steps"\s*:/.test(source.text),
  import: importWorkrail,
};

async function importWorkrail(
  files: readonly SourceFile[],
  options: ImportOptions,
): Promise<readonly ImportedFile[]> {
  const sources = files.map((each) => ({ ...each, ...readWorkflow(each.source) }));
  const routines = await findRoutines(sources, options);
  const names = createNames();
  return sources.map(({ file, read, diagnostics }) => {
    options.signal.throwIfAborted();
    if (read === undefined) return { file, diagnostics };
    return { file, diagnostics, made: make(read, names, routines, options) };
  });
}

function make(
  source: WorkrailFile,
  names: Names,
  routines: WorkflowContext['routines'],
  options: ImportOptions,
): NonNullable<ImportedFile['made']> {
  const name = names.take(nameOf(source.workflow.id));
  const flow = new WorkflowContext(source, name, routines, options);
  const workflow = convertWorkflow(source, flow);
  const checks = flow.checks.manifest(name);
  const base = source.file.split('/').at(-1) ?? source.file;
  const files: MadeFile[] = [{ path: `${name}.yml`, text: workflowYaml(workflow, flow, base) }];
  const add = (manifest: JsonObject, head: readonly string[]) =>
    files.push({ path: `${manifest.name}.yml`, text: yamlOf(manifest, head) });
  if (checks !== undefined) add(checks, [`Made from ${base} for ${name}.`]);
  if (options.agent) {
    const run = `Follows ${name}: telltale run ${name}-agent.yml "what is to be done"`;
    const todo = 'Give it the tools that the procedure needs, and choose its model.';
    add(leadingAgent(flow, String(workflow.description), checks !== undefined), [run, todo]);
    for (const [tier, agent] of flow.tiers)
      add(agentManifest(agent, modelOfTier(tier), {}), [`Works on the steps of ${name} of this tier.`]);
  }
  return { kind: 'workflow', name, files, entries: flow.report.entries() };
}

/** The workflow as YAML. What was changed or left is a comment at its step. */
function workflowYaml(manifest: JsonObject, flow: WorkflowContext, file: string): string {
  const { name, about = [], examples = [] } = flow.workflow;
  const entries = flow.report.entries();
  const remarks = (step: string | null | undefined) =>
    remarksOf(entries.filter((entry) => entry.step === step).map((entry) => ({ ...entry, step: null })));
  const lines = examples.map(
    (each) => `For example: ${typeof each === 'string' ? each : JSON.stringify(each)}`,
  );
  const head = [name, about, lines, `Imported from ${file}, a workflow of WorkRail.`, remarks(null)].flat();
  return yamlOf(manifest, head, (step) => remarks(flow.origins.get(step)));
}

const DEFAULT_MODEL = 'anthropic/claude-sonnet-4-5';
/** The models for WorkRail's tiers, and for the short names in its documents. */
const MODELS: Readonly<Record<string, string>> = {
  lightweight: 'anthropic/claude-haiku-4-5',
  mid: DEFAULT_MODEL,
  heavy: 'anthropic/claude-opus-4-5',
  haiku: 'anthropic/claude-haiku-4-5',
  sonnet: DEFAULT_MODEL,
  opus: 'anthropic/claude-opus-4-5',
};
const modelOfTier = (tier: string | undefined, fallback = DEFAULT_MODEL): string =>
  MODELS[tier ?? ''] ?? fallback;

const INSTRUCTIONS =
  'You work through a procedure, one step at a time. Do what the current step asks for with your tools. Complete it with notes that say what you did and what the result was. Put what later steps need into context_updates.\n';

/** An agent with the tools that every procedure needs. */
const agentManifest = (name: string, model: string, more: JsonObject, imports: JsonObject = {}): JsonObject =>
  filled({
    kind: 'Agent',
    name,
    model,
    instructions: INSTRUCTIONS,
    ...more,
    import: filled({ ...imports, tools: ['builtin:filesystem'] }),
  });

/** The agent that follows the workflow. */
function leadingAgent(flow: WorkflowContext, description: string, hasChecks: boolean): JsonObject {
  const { name, workflow, options, tiers } = flow;
  const model = options.model ?? modelOfTier(workflow.modelTier);
  const models = [...flow.models]
    .filter((each) => !isModelRef(each))
    .map((each) => [each, options.model ?? modelOfTier(each, model)] as const);
  // A procedure takes more turns than a question: it has loops, second opinions and approvals.
  const limits = { turns: 500 };
  const more = { description, models: Object.fromEntries(models), limits, workflow: name };
  return agentManifest(`${name}-agent`, model, more, {
    workflows: [`./${name}.yml`],
    artifacts: hasChecks ? [`./${name}-checks.yml`] : [],
    agents: [...tiers.values()].map((agent) => `./${agent}.yml`),
  });
}
