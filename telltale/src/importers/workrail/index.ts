import { dirname, join } from 'node:path';
import type { Json, JsonObject } from '../../lib/json.ts';
import { isModelRef } from '../../manifest/schema/model-ref.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import type { ImportedFile, Importer, ImportOptions, MadeFile, SourceFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { createNames, type Names, nameOf } from '../names.ts';
import type { Entry } from '../report.ts';
import { readSource } from '../sources.ts';
import { readWorkrail, type WorkrailFile } from './read.ts';
import { stepsOf } from './shape.ts';
import { convertWorkflow, templateIdOf, type WorkflowConverted } from './workflow.ts';

export const workrail: Importer = {
  pattern: '**/*.json',
  detect: ({ source }) => /"steps"\s*:/.test(source.text),
  import: importWorkrail,
};

type Routines = ReadonlyMap<string, WorkrailFile['workflow']>;

async function importWorkrail(
  files: readonly SourceFile[],
  options: ImportOptions,
): Promise<readonly ImportedFile[]> {
  const read = files.map((each) => ({ ...each, ...readWorkrail(each.source) }));
  const routines = await knownRoutines(read, options);
  const names = createNames();
  return read.map(({ file, read: found, diagnostics }) => {
    options.signal.throwIfAborted();
    const made = found === undefined ? {} : { made: make(found, names, routines, options) };
    return { file, diagnostics, ...made };
  });
}

/** Routines by the ids of their templates: those among the files, and those that lie beside one that calls them. */
async function knownRoutines(
  files: readonly { readonly read?: WorkrailFile; readonly path: string }[],
  options: ImportOptions,
): Promise<Routines> {
  const known = new Map<string, WorkrailFile['workflow']>();
  const add = ({ workflow }: WorkrailFile) => known.set(templateIdOf(workflow.id), workflow);
  for (const { read } of files) if (read !== undefined) add(read);
  for (const { read, path } of files)
    for (const templateId of read === undefined ? [] : calledIn(read)) {
      const name = templateId.split('.').at(-1) ?? templateId;
      for (const folder of ['routines', '.']) {
        if (known.has(templateId) || !/^[\w-]+$/.test(name)) continue;
        const beside = await readSource(join(dirname(path), folder, `${name}.json`), options);
        const routine = 'source' in beside ? readWorkrail(beside.source).read : undefined;
        if (routine !== undefined) add(routine);
      }
    }
  return known;
}

const calledIn = ({ workflow }: WorkrailFile): readonly string[] =>
  stepsOf(workflow).flatMap(({ step }) =>
    step.type === undefined && step.templateCall !== undefined ? [step.templateCall.templateId] : [],
  );

function make(
  found: WorkrailFile,
  names: Names,
  routines: Routines,
  { confirm, agent: wantsAgent, model }: ImportOptions,
): NonNullable<ImportedFile['made']> {
  const name = names.take(nameOf(found.workflow.id));
  const converted = convertWorkflow(found, name, {
    confirm,
    routine: (id) => routines.get(id),
    tierAgent: (tier) => (wantsAgent && model === undefined ? `${name}-${tier}` : undefined),
  });
  const base = found.file.split('/').at(-1) ?? found.file;
  const agent = agentOf(converted, found.workflow.modelTier, model);
  const agents: readonly (readonly [JsonObject, readonly string[]])[] = [
    [
      agent,
      [
        `Is led through ${name}: telltale run ${agent.name}.yml "what is to be done"`,
        'Give it the tools that the procedure needs, and choose its model.',
      ],
    ],
    ...Array.from(converted.tiers, ([tier, named]) => {
      const head = [`Works on the steps of ${name} that ask for this tier.`];
      return [agentWith(named, MODELS[tier] ?? DEFAULT_MODEL, { import: TOOLS }), head] as const;
    }),
  ];
  const files: readonly MadeFile[] = [
    { path: `${name}.yml`, text: workflowYaml(converted, base) },
    ...(converted.checks === undefined
      ? []
      : [{ path: `${name}-checks.yml`, text: yamlOf(converted.checks, [`Made from ${base} for ${name}.`]) }]),
    ...(wantsAgent ? agents : []).map(([each, head]) => ({
      path: `${each.name}.yml`,
      text: yamlOf(each, head),
    })),
  ];
  return { kind: 'workflow', name, files, entries: converted.entries };
}

/** The workflow as YAML, with what was changed or left beside the steps that it is about. */
function workflowYaml({ workflow, entries, origins, about }: WorkflowConverted, file: string): string {
  const remarks = (step: string | null | undefined): readonly string[] =>
    entries
      .filter((entry: Entry) => entry.step === step && entry.outcome !== 'kept')
      .map(({ construct, outcome, how }) => `${construct} (${outcome}): ${how}`);
  const beside = stepsWithPaths(workflow.steps, ['steps']).map(
    ([path, step]) => [path, remarks(origins.get(step))] as const,
  );
  return yamlOf(
    workflow,
    [...about, `Imported from ${file}, a workflow of WorkRail.`, ...remarks(null)],
    beside,
  );
}

type IndexPath = readonly (string | number)[];

const stepsWithPaths = (
  steps: Json | undefined,
  path: IndexPath,
): readonly (readonly [IndexPath, JsonObject])[] =>
  Array.isArray(steps)
    ? (steps as readonly JsonObject[]).flatMap((step, index) => [
        [[...path, index], step] as const,
        ...stepsWithPaths(step.body, [...path, index, 'body']),
      ])
    : [];

const DEFAULT_MODEL = 'anthropic/claude-sonnet-4-5';
/** What WorkRail's tiers, and the short names of its documents, are taken for. */
const MODELS: Readonly<Record<string, string>> = {
  lightweight: 'anthropic/claude-haiku-4-5',
  mid: DEFAULT_MODEL,
  heavy: 'anthropic/claude-opus-4-5',
  haiku: 'anthropic/claude-haiku-4-5',
  sonnet: DEFAULT_MODEL,
  opus: 'anthropic/claude-opus-4-5',
};
const TOOLS: JsonObject = { tools: ['builtin:filesystem'] };
const INSTRUCTIONS =
  'You work through a procedure, one step at a time. Do what the step in hand asks for, with your tools, and complete it with notes that say what you did and what came of it. What you find out and later steps need, you put into context_updates.\n';

const agentWith = (name: string, model: string, more: JsonObject, models: JsonObject = {}): JsonObject => ({
  kind: 'Agent',
  name,
  model,
  ...(Object.keys(models).length === 0 ? {} : { models }),
  instructions: INSTRUCTIONS,
  ...more,
});

/** An agent that the workflow leads. */
function agentOf(
  { name, workflow, checks, tiers }: WorkflowConverted,
  tier: string | undefined,
  asked: string | undefined,
): JsonObject {
  const model = asked ?? MODELS[tier ?? ''] ?? DEFAULT_MODEL;
  const named = [...new Set(modelNames(workflow.steps))].filter((each) => !isModelRef(each));
  const models = Object.fromEntries(named.map((each) => [each, asked ?? MODELS[each] ?? model]));
  const agents = [...tiers.values()].map((each) => `./${each}.yml`);
  return agentWith(
    `${name}-agent`,
    model,
    {
      description: workflow.description ?? '',
      // A procedure takes longer than a question: loops, second opinions, people.
      limits: { turns: 500 },
      workflow: name,
      import: {
        workflows: [`./${name}.yml`],
        ...(checks === undefined ? {} : { artifacts: [`./${name}-checks.yml`] }),
        ...(agents.length === 0 ? {} : { agents }),
        ...TOOLS,
      },
    },
    models,
  );
}

/** The names of models in steps, their verifiers and their bodies. */
function modelNames(steps: unknown): readonly string[] {
  if (Array.isArray(steps)) return steps.flatMap(modelNames);
  if (!isMap(steps)) return [];
  const own = typeof steps.model === 'string' ? [steps.model] : [];
  const inner = [steps.verify, steps.body, steps.cases];
  return [...own, ...inner.flatMap(modelNames)];
}
