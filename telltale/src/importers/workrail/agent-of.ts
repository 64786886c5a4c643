import type { JsonObject } from '../../kernel/json.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { isModelRef } from '../../manifest/schema/model-ref.ts';
import type { Converted } from './convert-workflow.ts';

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
const INSTRUCTIONS =
  'You work through a procedure, one step at a time. Do what the step in hand asks for, with your tools, and complete it with notes that say what you did and what came of it. What you find out and later steps need, you put into context_updates.\n';

/** An agent that the workflow leads. */
export function agentOf(
  { name, workflow, checks, tiers }: Converted,
  files: { readonly workflow: string; readonly checks: string },
  tier: string | undefined,
  asked: string | undefined,
): JsonObject {
  const model = asked ?? MODELS[tier ?? ''] ?? DEFAULT_MODEL;
  const named = [...new Set(modelNames(workflow.steps))].filter((each) => !isModelRef(each));
  const models = named.map((each) => [each, asked ?? MODELS[each] ?? model] as const);
  return {
    kind: 'Agent',
    name: `${name}-agent`,
    ...(workflow.description === undefined ? {} : { description: workflow.description }),
    model,
    ...(models.length === 0 ? {} : { models: Object.fromEntries(models) }),
    instructions: INSTRUCTIONS,
    // A procedure takes longer than a question: loops, second opinions, people.
    limits: { turns: 500 },
    workflow: name,
    import: {
      workflows: [`./${files.workflow}`],
      ...(checks === undefined ? {} : { artifacts: [`./${files.checks}`] }),
      ...(tiers.size === 0 ? {} : { agents: [...tiers.values()].map((each) => `./${each}.yml`) }),
      tools: ['builtin:filesystem'],
    },
  };
}

/** An agent for the steps that ask for a tier of models. */
export const tierAgent = (name: string, tier: string): JsonObject => ({
  kind: 'Agent',
  name,
  model: MODELS[tier] ?? DEFAULT_MODEL,
  instructions: INSTRUCTIONS,
  import: { tools: ['builtin:filesystem'] },
});

/** The names of models in steps, their verifiers and their bodies. */
function modelNames(steps: unknown): readonly string[] {
  if (Array.isArray(steps)) return steps.flatMap(modelNames);
  if (!isMap(steps)) return [];
  const own = typeof steps.model === 'string' ? [steps.model] : [];
  return [...own, ...[steps.verify, steps.body, steps.cases].flatMap(modelNames)];
}
