import { asText } from '../../conditions/as-text.ts';
import { stepName } from '../../events/reduce-run.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { allSteps } from '../all-steps.ts';
import type { LeafPlace } from '../leaf.ts';
import type { LeafContext, StepOf } from '../steps/leaf-edges.ts';
import { resolveInStep } from '../steps/resolve-in-step.ts';

/** What a worker is told: the prompt with the components that join it, the fragments whose tests hold, the references. */
export async function taskPrompt(
  step: StepOf<'task'>,
  place: LeafPlace,
  context: LeafContext,
): Promise<string> {
  const { address, locals } = place;
  const parts = [
    await context.decisions.prompt(step, address, locals),
    ...(await fragmentsOf(step.fragments, place, context)),
  ];
  const { references } = context.workflow;
  if (references.length > 0 && isFirst(step, address, context)) parts.push(referencesText(references));
  return parts.join('\n\n');
}

/** The fragments of a step's prompt whose tests hold: each is decided once for its address, and on the log. */
export async function fragmentsOf(
  fragments: StepOf<'task' | 'plan'>['fragments'],
  place: LeafPlace,
  { decisions, scope }: Pick<LeafContext, 'decisions' | 'scope'>,
): Promise<readonly string[]> {
  const joined: string[] = [];
  for (const [index, { text, if: test }] of fragments.entries()) {
    const holds =
      test === undefined || (await decisions.test(`${place.address}:fragment ${index}`, test, place.locals));
    if (holds) joined.push(asText(await resolveInStep(text, place, { scope })));
  }
  return joined;
}

/** Whether nobody has told its worker of the references yet: a task that a person kept from beginning told nothing. */
function isFirst(
  { agent }: StepOf<'task'>,
  address: string,
  { workflow, journal: { state } }: LeafContext,
): boolean {
  const isOutside = state.origin.client !== undefined; // then one client works on all of them
  const tasks = new Map(
    allSteps(workflow).flatMap((each) => (each.type === 'task' ? [[each.name, each.agent] as const] : [])),
  );
  return ![...state.steps.values()].some(({ step, input, status, error }) => {
    const name = stepName(step);
    if (step === address || input === undefined || !tasks.has(name)) return false;
    const wasRefused = status === 'failed' && error?.code === 'rejected';
    return !wasRefused && (isOutside || tasks.get(name) === agent);
  });
}

function referencesText(references: WorkflowManifest['references']): string {
  const lines = references.map(({ title, source, purpose, authoritative }) => {
    const why = purpose === undefined ? '' : ` (${purpose.replace(/[.\s]+$/, '')})`;
    const counts = authoritative ? '. Where it and something else differ, it counts.' : '';
    return `- ${title}: ${source}${why}${counts}`;
  });
  return ['Documents for this work:', ...lines].join('\n');
}
